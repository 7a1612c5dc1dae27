package large

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// What a node is asked for while something else happens to it: so little that all of it is in time.
const (
	reads   = 500 // in a second
	writes  = 500
	callers = 8
	keys    = 100 // counters that are written
)

// demand is reads of the large sets, and writes of volatile counters, begun by the clock.
type demand struct{ reads, writes *measure.Pace }

func startDemand(ctx context.Context, r *ddata.Replicator) *demand {
	return &demand{
		reads: measure.Begin(ctx, callers, reads, func(ctx context.Context, caller, i int) error {
			set, err := ddata.Get(ctx, r, setKey((caller+i)%setsMin), ddata.ReadLocal)
			if err == nil {
				set.Contains(measure.Scattered(uint64(i)))
			}
			return err
		}),
		writes: measure.Begin(ctx, callers, writes, func(ctx context.Context, caller, i int) error {
			key := ddata.NewKey[crdt.GCounter]("counter/" + strconv.Itoa((caller+i*callers)%keys))
			return ddata.Update(ctx, r, key, ddata.WriteLocal, func(g *crdt.GCounterTx) error { return g.Increment(1) })
		}),
	}
}

// parts of the operations whose time a demand says.
var parts = [...]float64{.5, .99, .999, 1}

// end ends it, and returns within how many microseconds the parts of reads were done, and of writes.
func (l *demand) end() (out []float64, err error) {
	for _, p := range []*measure.Pace{l.reads, l.writes} {
		got, failed := p.End()
		if err == nil {
			err = failed
		}
		for _, part := range parts {
			out = append(out, got.Percentile(part))
		}
	}
	return out, err
}

// refuse collects garbage again and again.
type refuse struct {
	rest   time.Duration // after each cycle, so many times as long as it took
	before *metrics.Float64Histogram
	stop   chan struct{}
	ended  sync.WaitGroup
	cycles int
	live   uint64 // the most bytes that a cycle found in use
}

func startCollecting(rest int) *refuse {
	w := &refuse{rest: time.Duration(rest), before: pauses(), stop: make(chan struct{})}
	w.ended.Go(func() {
		for {
			begun := time.Now()
			runtime.GC()
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(live)
			w.cycles, w.live = w.cycles+1, max(w.live, live[0].Value.Uint64())
			select {
			case <-w.stop:
				return
			case <-time.After(w.rest * time.Since(begun)):
			}
		}
	})
	return w
}

// end waits for the cycle that runs, and returns how many there were, the most bytes that one has found in use, and
// within how many microseconds a half and 0.99 of the pauses of the whole process ended, and all of them.
func (w *refuse) end() []float64 {
	close(w.stop)
	w.ended.Wait()
	h := pauses()
	for i := range h.Counts {
		h.Counts[i] -= w.before.Counts[i]
	}
	return []float64{float64(w.cycles), float64(w.live), within(h, .5), within(h, .99), within(h, 1)}
}

// pauses are those that the collector has made so far, in seconds.
func pauses() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	return &metrics.Float64Histogram{Counts: append([]uint64(nil), h.Counts...), Buckets: h.Buckets}
}

// within is the upper end, in microseconds, of the bucket with which a part of all is counted.
func within(h *metrics.Float64Histogram, part float64) float64 {
	all := uint64(0)
	for _, n := range h.Counts {
		all += n
	}
	sum := uint64(0)
	for i, n := range h.Counts {
		if sum += n; n > 0 && float64(sum) >= part*float64(all) {
			return 1e6 * min(h.Buckets[i+1], math.MaxFloat64/1e6)
		}
	}
	return 0
}
