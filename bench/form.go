package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
)

// formFounders found a cluster; all others join it.
const formFounders = 3

// runForm measures how long nodes that start together take until all see all of them Up, what they cost when nothing happens, and the same of
// hundreds of membership machines alone in virtual time, with a crash of every tenth.
func runForm(ctx context.Context, o options) error {
	for _, n := range []int{3, 10, 50} {
		if o.n == 0 || n <= o.n {
			if err := formReal(ctx, n, o.d); err != nil {
				return fmt.Errorf("%d nodes: %w", n, err)
			}
		}
	}
	for _, c := range []struct{ n, voters int }{{100, 0}, {100, 25}, {300, 25}, {1000, 25}} {
		if o.n == 0 || c.n <= o.n {
			if err := formSimulated(ctx, c.n, c.voters); err != nil {
				return fmt.Errorf("%d simulated: %w", c.n, err)
			}
		}
	}
	return nil
}

// formReal starts n nodes with the timers of production in this process. What a node costs while idle is everything: heartbeats, gossip of memberlist and of
// one Replicator, on both ends.
func formReal(ctx context.Context, n int, d time.Duration) error {
	addrs := make([]string, n)
	for i := range addrs {
		var err error
		if addrs[i], err = freeAddr(); err != nil {
			return err
		}
	}
	founders := min(n, formFounders)
	nodes := make([]*ddata.Node, n)
	defer func() {
		for _, x := range nodes {
			if x != nil {
				_ = x.Close()
			}
		}
	}()
	errs := make(chan error, n)
	start := time.Now()
	for i := range nodes {
		cfg := ddata.Config{
			Name: "bench", Bind: addrs[i], Seeds: addrs[:founders], Roles: []string{role}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		if i < founders {
			cfg.BootstrapExpect = founders
		}
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, cfg)
			errs <- err
		}()
	}
	var failed error
	for range nodes {
		if err := <-errs; err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	for _, x := range nodes {
		if err := awaitView(ctx, x, func(v *membership.View) bool { return allUp(v, n) }); err != nil {
			return err
		}
	}
	formed := time.Since(start)
	var idle cost
	sent := sentBytes(nodes)
	err := idle.measure(1, func() error { return pass(ctx, 3*d) })
	if err != nil {
		return err
	}
	var f figures
	f.add("all_up_ms", formed.Milliseconds())
	f.add("epochs", uint64(nodes[0].View().Epoch))
	f.add("idle_cpu_percent_per_node", 100*idle.cpu.Seconds()/idle.wall.Seconds()/float64(n))
	f.add("idle_bytes_per_s_per_node", int(float64(sentBytes(nodes)-sent)/idle.wall.Seconds()/float64(n)))
	report("form", "real-"+strconv.Itoa(n), f)
	return nil
}

func sentBytes(nodes []*ddata.Node) (sum uint64) {
	for _, x := range nodes {
		sum += x.Transport().Stats().BytesOut
	}
	return sum
}

func allUp(v *membership.View, n int) bool {
	if len(v.Members) != n {
		return false
	}
	for _, m := range v.Members {
		if m.Status != membership.Up {
			return false
		}
	}
	return true
}

// awaitView waits until a node has installed a view that fulfils want.
func awaitView(ctx context.Context, n *ddata.Node, want func(*membership.View) bool) error {
	seen := make(chan struct{}, 1)
	defer n.Watch(ddata.Watcher{View: func(v *membership.View) {
		if want(v) {
			select {
			case seen <- struct{}{}:
			default:
			}
		}
	}})()
	select {
	case <-seen:
		return nil
	case <-n.Done():
		return n.Err()
	case <-ctx.Done():
		return fmt.Errorf("%w; view %v", ctx.Err(), n.View())
	}
}

// pass lets time go by.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
