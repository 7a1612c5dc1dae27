package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

const (
	stopAllStops  = 50
	stopAllAtOnce = 10 // clusters side by side
	stopAllNodes  = 3
	stopAllTarget = 2 * time.Second
	// stopAllLife is longer than connections without a member are kept open.
	stopAllLife  = 32 * time.Second
	stopAllLimit = 25 * time.Second // of a node's Leave
)

// runStopAll stops all processes of clusters of three at once with SIGTERM, after half a minute of
// life, every other cluster after PrepareForShutdown. It measures until the last process of each
// cluster has ended, and counts exits that are not 0.
func runStopAll(ctx context.Context, o options) error {
	var took []time.Duration
	failed := 0
	for left := o.size(stopAllStops); left > 0; left -= stopAllAtOnce {
		n := min(left, stopAllAtOnce)
		stops := make(chan stopped, n)
		for i := range n {
			go func() { stops <- stopCluster(ctx, fmt.Sprintf("127.0.%d.1:0", i+1), i%2 == 0) }()
		}
		var errs []error
		for range n {
			s := <-stops
			took, failed, errs = append(took, s.took), failed+s.failed, append(errs, s.err)
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	slices.Sort(took)
	slow := 0
	for _, d := range took {
		if d > stopAllTarget {
			slow++
		}
	}
	var f measure.Figures
	f.Add("stops", len(took))
	f.Add("p50_ms", measure.Millis(measure.PercentileOf(took, 0.5)))
	f.Add("slowest_ms", measure.Millis(took[len(took)-1]))
	f.Add("above_target", slow)
	f.Add("target_ms", stopAllTarget.Milliseconds())
	f.Add("failed_exits", failed)
	measure.Report("stopall", "three-processes", f)
	return nil
}

// stopped is one stop of a cluster.
type stopped struct {
	took   time.Duration // until the last process had ended
	failed int           // processes that did not exit with 0
	err    error         // the cluster did not come up
}

// stopCluster starts a cluster, lets it live, and stops all its processes. Each cluster listens at
// a loopback address of its own, because the connections of the others take ports of the usual one.
func stopCluster(ctx context.Context, bind string, prepare bool) (s stopped) {
	addrs := make([]string, stopAllNodes)
	var held []net.Listener // all at once, so that they differ
	for i := range addrs {
		l, err := net.Listen("tcp", bind)
		if err != nil {
			return stopped{err: err}
		}
		addrs[i], held = l.Addr().String(), append(held, l)
	}
	for _, l := range held {
		_ = l.Close()
	}
	var children []*child.Process
	defer func() {
		for _, c := range children {
			_ = c.Cmd.Process.Kill() // of one that has not come to its end
		}
	}()
	for i := range addrs {
		c, err := child.Start(ctx, "stopall", i, addrs[0], addrs[1], addrs[2])
		if err != nil {
			return stopped{err: err}
		}
		children = append(children, c)
	}
	for _, c := range children {
		if said, err := c.Answer(); err != nil || said != "up" {
			return stopped{err: fmt.Errorf("a process said %q: %w", said, err)}
		}
	}
	select {
	case <-time.After(stopAllLife):
	case <-ctx.Done():
		return stopped{err: ctx.Err()}
	}
	if prepare {
		if said, err := children[0].Ask("prepare"); err != nil || said != "prepared" {
			return stopped{err: fmt.Errorf("prepare: a process said %q: %w", said, err)}
		}
	}
	began := time.Now()
	for _, c := range children {
		if err := c.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return stopped{err: err}
		}
	}
	for _, c := range children {
		err := c.Cmd.Wait()
		if _, exited := errors.AsType[*exec.ExitError](err); exited {
			s.failed++
		} else if err != nil {
			return stopped{err: err}
		}
	}
	s.took = time.Since(began)
	return s
}

// stopAllChild is one process of a cluster that is stopped: words are its index, and the addresses
// of all.
func stopAllChild(ctx context.Context, words []string) error {
	self, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	cfg := detectConfig(words[1+self], words[1:], ddata.LAN)
	cfg.LeaveOnSIGTERM = stopAllLimit
	n, err := ddata.Start(ctx, cfg)
	if err != nil {
		return err
	}
	region, err := startFailoverType(n)
	if err != nil {
		return err
	}
	for i := range failShards {
		if _, err := sharding.Ask(ctx, region.Ref(strconv.Itoa(i)), Query{}); err != nil {
			return err
		}
	}
	fmt.Println("up")
	go func() {
		var word string
		if _, err := fmt.Scanln(&word); err == nil && word == "prepare" {
			if err := n.PrepareForShutdown(ctx); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println("prepared")
		}
	}()
	<-n.Done()
	if err := n.Err(); !errors.Is(err, ddata.ErrLeft) {
		return err
	}
	return nil
}
