package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/ports"
)

// formFounders found a cluster; all others join it.
const formFounders = 3

// runForm measures how long nodes that start together take until all see all of them Up, and what
// they cost when nothing happens. It measures the same of hundreds of membership machines alone in
// virtual time, with a crash of every tenth.
func runForm(ctx context.Context, o options) error {
	for _, n := range []int{3, 10, 50} {
		if o.n == 0 || n <= o.n {
			if err := formReal(ctx, n, o.d); err != nil {
				return fmt.Errorf("%d nodes: %w", n, err)
			}
		}
	}
	for _, c := range []struct{ n, voters int }{{100, -1}, {100, 0}, {300, 0}, {1000, 0}} {
		if o.n == 0 || c.n <= o.n {
			if err := formSimulated(ctx, c.n, c.voters); err != nil {
				return fmt.Errorf("%d simulated: %w", c.n, err)
			}
		}
	}
	return nil
}

// formReal starts n nodes with the timers of production in this process. What a node costs while
// idle is everything: heartbeats, gossip of memberlist and of one Replicator, on both ends.
func formReal(ctx context.Context, n int, d time.Duration) error {
	nodes := make([]*ddata.Node, n)
	defer func() {
		for _, x := range nodes {
			if x != nil {
				_ = x.Close()
			}
		}
	}()
	var forming, idle measure.Cost
	var again atomic.Int32
	err := forming.Measure(1, func() error {
		if err := startTogether(ctx, nodes, &again); err != nil {
			return err
		}
		for _, x := range nodes {
			if err := awaitView(ctx, x, func(v *view.View) bool { return allUp(v, n) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := measure.Pass(ctx, d); err != nil { // the last views are settled
		return err
	}
	sent := sentBytes(nodes)
	if err := idle.Measure(1, func() error { return measure.Pass(ctx, 3*d) }); err != nil {
		return err
	}
	var f measure.Figures
	f.Add("all_up_ms", forming.Wall.Milliseconds())
	f.Add("all_up_cpu_ms_per_node", float64(forming.CPU.Milliseconds())/float64(n))
	f.Add("epochs", uint64(nodes[0].View().Epoch))
	f.Add("restarts", again.Load())
	f.Add("idle_cpu_percent_per_node", 100*idle.CPU.Seconds()/idle.Wall.Seconds()/float64(n))
	f.Add("idle_bytes_per_s_per_node", int(float64(sentBytes(nodes)-sent)/idle.Wall.Seconds()/float64(n)))
	measure.Report("form", "real-"+strconv.Itoa(n), f)
	return nil
}

// startTogether starts all nodes at once; some found the cluster. A node that the others give up
// before it is Up, as happens where the machine is too busy to run them all, is started again. If one ends later,
// the others give up: it may have been a founder.
func startTogether(ctx context.Context, nodes []*ddata.Node, again *atomic.Int32) error {
	seeds, err := ports.Free(min(len(nodes), formFounders))
	if err != nil {
		return err
	}
	errs := make(chan error, len(nodes))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for i := range nodes {
		cfg := ddata.Config{
			Name: "bench", Bind: "127.0.0.1:0",
			Seeds: seeds, Roles: []string{role}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		if i < len(seeds) {
			cfg.Bind, cfg.BootstrapExpect = seeds[i], len(seeds)
		}
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, cfg)
			for errors.Is(err, ddata.ErrDowned) && ctx.Err() == nil {
				again.Add(1)
				nodes[i], err = ddata.Start(ctx, cfg)
			}
			errs <- err
			if err == nil {
				<-nodes[i].Done()
				err = nodes[i].Err()
			}
			fail(err)
		}()
	}
	var failed []error
	for range nodes {
		failed = append(failed, <-errs)
	}
	return errors.Join(failed...)
}

func sentBytes(nodes []*ddata.Node) (sum uint64) {
	for _, x := range nodes {
		sum += x.TransportStats().BytesOut
	}
	return sum
}

func allUp(v *view.View, n int) bool {
	if len(v.Members) != n {
		return false
	}
	for _, m := range v.Members {
		if m.Status != view.Up {
			return false
		}
	}
	return true
}

// awaitView waits until a node has installed a view that fulfils want.
func awaitView(ctx context.Context, n *ddata.Node, want func(*view.View) bool) error {
	for v, err := range n.Watch(ctx) {
		if err != nil {
			return fmt.Errorf("%w; view %v", err, n.View())
		}
		if want(v) {
			break
		}
	}
	return nil
}
