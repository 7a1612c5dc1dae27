package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// replicateWindow is how many writes may be unacknowledged before the caller is held back.
const replicateWindow = 4096

// runReplicate measures how many changes of one key a node brings to both others, held back by
// their acknowledgements: a write counts when both have it. Beside it frames one way over raw TCP.
func runReplicate(ctx context.Context, o options) error {
	nodes, stop, err := startNodes(ctx, 3, nil)
	if err != nil {
		return err
	}
	defer stop()
	rs := make([]*ddata.Replicator, len(nodes))
	for i, n := range nodes {
		if rs[i], err = n.Replicator(role); err != nil {
			return err
		}
	}
	data, err := nodes[0].Host().UserData(role)
	if err != nil {
		return err
	}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer raw.Close()
	go serveRaw(raw)
	limit, err := rawOneWay(raw.Addr().String(), o.d/2)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		key  string
		fn   func(i int) func(*crdt.Tx) error
		size func(r *ddata.Replicator) (int, error)
	}{
		{"counter", counterKey.Name(), increment, func(r *ddata.Replicator) (int, error) {
			v, err := ddata.Get(ctx, r, counterKey, ddata.ReadLocal)
			return int(v.Value()), err
		}},
		{"set", setKey.Name(), addOne, func(r *ddata.Replicator) (int, error) {
			v, err := ddata.Get(ctx, r, setKey, ddata.ReadLocal)
			return v.Len(), err
		}},
	} {
		if _, err := sustain(ctx, data, c.key,
			func(i int) func(*crdt.Tx) error { return c.fn(-i) }, o.d/4); err != nil {
			return err
		}
		before, err := c.size(rs[0])
		if err != nil {
			return err
		}
		s, err := sustain(ctx, data, c.key, c.fn, o.d)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for i, r := range rs {
			if n, err := c.size(r); err != nil || n-before != s.load.Ops {
				return fmt.Errorf("%s: node %d holds %d more after %d acknowledged writes, %w",
					c.name, i, n-before, s.load.Ops, err)
			}
		}
		var f measure.Figures
		f.Add("events_per_s", int(s.load.PerSecond()))
		f.Add("cpu_ns_per_event_of_3_nodes", float64(s.cpu.Nanoseconds())/float64(s.load.Ops))
		f.Add("lag_max_ms", float64(s.lag.Microseconds())/1e3)
		f.Add("window_events", replicateWindow)
		f.Add("limit_frames_per_s", int(limit.PerSecond()))
		f.Add("ratio", s.load.PerSecond()/limit.PerSecond())
		measure.Report("replicate", c.name, f)
	}
	return nil
}

func increment(int) func(*crdt.Tx) error {
	return crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
}

func addOne(i int) func(*crdt.Tx) error {
	return crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
		return s.Add("element-" + strconv.Itoa(i))
	})
}

type sustained struct {
	load measure.Load
	cpu  time.Duration
	lag  time.Duration // the longest that a write took until all had it
}

// sustain writes for d with at most replicateWindow writes under way, and waits for the last of
// them.
func sustain(ctx context.Context, data host.Data, key string, fn func(i int) func(*crdt.Tx) error,
	d time.Duration) (sustained, error) {
	var (
		s     sustained
		fail  atomic.Pointer[error]
		room  = make(chan struct{}, replicateWindow)
		began = make([]time.Time, replicateWindow) // by place in the window; written by the holder of the place
		free  = make(chan int, replicateWindow)
	)
	for i := range replicateWindow {
		free <- i
	}
	cpu, start := measure.CPUTime(), time.Now()
	for now := start; now.Sub(start) < d && fail.Load() == nil && ctx.Err() == nil; s.load.Ops++ {
		room <- struct{}{}
		place := <-free
		if s.load.Ops%64 == 0 {
			now = time.Now()
		}
		began[place] = now
		data.Update(key, quorum.All, 0, fn(s.load.Ops+1), func(err error) {
			if err != nil {
				fail.Store(&err)
			}
			if place%64 == 0 { // not every one: a look at the clock is dear
				s.lag = max(s.lag, time.Since(began[place]))
			}
			free <- place
			<-room
		})
	}
	for range replicateWindow {
		room <- struct{}{} // all have come back
	}
	s.load.Elapsed, s.cpu = time.Since(start), measure.CPUTime()-cpu
	if err := fail.Load(); err != nil {
		return s, *err
	}
	return s, ctx.Err()
}
