package sim

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/counts"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/planted"
)

// Summary is what a batch of seeds came to.
type Summary struct {
	Seeds    uint64
	Events   uint64
	Elapsed  time.Duration
	Failures []Result // by seed
	Counts   counts.Counts
}

func (s Summary) String() string {
	return fmt.Sprintf("sim: seeds=%d violations=%d events=%d events_per_s=%.0f", s.Seeds, len(s.Failures), s.Events,
		float64(s.Events)/s.Elapsed.Seconds())
}

// Batch says which seeds to run and how.
type Batch struct {
	First   uint64
	Seeds   uint64
	Workers int // 0: one per processor
	Plan    options.Plan
	// StopAtFailure ends the batch at the first failing seed. The worlds of later ones are given up,
	// those of earlier ones are played to their end: the first failing seed is always the same one.
	StopAtFailure bool
	// Failed, when not nil, is called for every failing seed, one at a time, as it is found.
	Failed func(Result)
}

// Run runs the seeds. Worlds share nothing, so that the workers do not disturb any seed's story.
func (b Batch) Run() Summary {
	if b.Workers <= 0 {
		b.Workers = runtime.GOMAXPROCS(0)
	}
	var (
		next    atomic.Uint64
		first   atomic.Uint64 // failing seed, if that ends the batch
		mu      sync.Mutex
		wg      sync.WaitGroup
		sum     Summary
		started = time.Now()
	)
	first.Store(math.MaxUint64)
	for range b.Workers {
		wg.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= b.Seeds || b.First+n > first.Load() {
					return
				}
				seed := b.First + n
				r, over := play(newWorld(seed, b.Plan, nil), func() bool { return seed > first.Load() })
				if !over {
					return
				}
				mu.Lock()
				sum.Seeds++
				sum.Events += r.Events
				sum.Counts.Add(r.Counts)
				if r.Violation != nil {
					if b.StopAtFailure {
						first.Store(min(first.Load(), seed))
					}
					sum.Failures = append(sum.Failures, r)
					slices.SortFunc(sum.Failures, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
					if b.Failed != nil {
						b.Failed(r)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	sum.Elapsed = time.Since(started)
	return sum
}

// Validate says what is wrong with a plan.
func Validate(p options.Plan) error {
	for _, known := range []struct {
		field, name string
		names       []string
	}{
		{"Swarm", p.Swarm, options.Swarms}, {"Scenario", p.Scenario, options.Scenarios},
		{"Defect", p.Defect, planted.AllNames()},
	} {
		if known.name != "" && !slices.Contains(known.names, known.name) {
			return fmt.Errorf("sim: Plan.%s %q is none of %q", known.field, known.name, known.names)
		}
	}
	return nil
}

// Replay is the command that shows a failing seed.
func Replay(seed uint64, plan options.Plan) string {
	s := fmt.Sprintf("go run ./proptest/sim/cmd/sim -seed %d -v", seed)
	if plan.Swarm != "" {
		s += " -plan " + plan.Swarm
	}
	if plan.Scenario != "" {
		s += " -scenario " + plan.Scenario
	}
	if plan.Defect != "" {
		s += " -defect " + plan.Defect
	}
	if plan.FaultsMax > 0 {
		s += fmt.Sprintf(" -faults-max %d", plan.FaultsMax)
	}
	if plan.Inserts > 0 {
		s += fmt.Sprintf(" -inserts %d", plan.Inserts)
	}
	return s
}

// Shrink looks for the fewest faults of chaos with which a seed still fails, and returns the plan
// with that bound.
func Shrink(seed uint64, plan options.Plan) options.Plan {
	lo, hi := 0, 1
	for fails := func(n int) bool { p := plan; p.FaultsMax = n; return Run(seed, p, nil).Violation != nil }; ; {
		if hi > 256 {
			return plan // not the faults that make it fail, or too many
		}
		if fails(hi) {
			for lo+1 < hi {
				if mid := (lo + hi) / 2; fails(mid) {
					hi = mid
				} else {
					lo = mid
				}
			}
			plan.FaultsMax = hi
			return plan
		}
		lo, hi = hi, hi*2
	}
}

// HuntDefect runs seeds with a planted defect, in its own plan and from its own seed if it has these,
// until one is caught. It says how many seeds that took; ok is false when most did not do.
func HuntDefect(name string, most uint64, workers int) (seeds uint64, caught Result, ok bool) {
	plan, first := planted.HuntedIn[name], max(1, planted.HuntedFrom[name])
	plan.Defect = name
	s := Batch{First: first, Seeds: most, Workers: workers, Plan: plan, StopAtFailure: true}.Run()
	if len(s.Failures) == 0 {
		return s.Seeds, Result{}, false
	}
	return s.Seeds, s.Failures[0], true
}
