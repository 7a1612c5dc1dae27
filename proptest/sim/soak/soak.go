package soak

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Soak plays seeds until its time is over or one of them breaks a promise.
type Soak struct {
	From    uint64        // the first seed
	For     time.Duration // no world begins later than that
	Workers int           // worlds at a time; 0: one per core
	Plans   []options.Plan
	Every   time.Duration // between two lines; 0: ten seconds
	Story   int           // records of the story of a violation; 0: 60
	Out     io.Writer
}

// Rotation is the plans that a Soak of everything plays in turn: each swarm, and between any two
// rounds of them one scenario. The swarm draws some of the scenarios, and never the others, most of which
// come first here.
func Rotation() (plans []options.Plan) {
	for _, scenario := range slices.Backward(options.Scenarios) {
		plans = append(plans, options.Plan{})
		for _, swarm := range options.Swarms {
			plans = append(plans, options.Plan{Swarm: swarm})
		}
		plans = append(plans, options.Plan{Scenario: scenario})
	}
	return plans
}

// running is a Soak that has begun.
type running struct {
	Soak
	began  time.Time
	mu     sync.Mutex // over all below
	next   uint64     // worlds that have begun
	tally  tally
	failed *failure // the first violation; nil: there is none
}

// failure is a world that broke a promise.
type failure struct {
	seed uint64
	plan options.Plan
	what *sim.Violation
}

// Run plays, and reports whether no promise was broken.
func (s Soak) Run() (ok bool) {
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Every <= 0 {
		s.Every = 10 * time.Second
	}
	if s.Story <= 0 {
		s.Story = 60
	}
	r := &running{Soak: s, began: time.Now(), tally: newTally(s.Plans)}
	fmt.Fprintf(s.Out, "soak: for %v from seed %d on, %d worlds at a time\n", s.For, s.From, s.Workers)
	over := make(chan struct{})
	go func() {
		defer close(over)
		var all sync.WaitGroup
		for range s.Workers {
			all.Go(r.work)
		}
		all.Wait()
	}()
	lines := time.NewTicker(s.Every)
	defer lines.Stop()
	for {
		select {
		case <-lines.C:
			r.say()
			continue
		case <-over:
		}
		break
	}
	r.say()
	r.tally.cover(s.Out)
	if r.failed != nil {
		r.explain()
	}
	return r.failed == nil
}

// work plays one world after another.
func (r *running) work() {
	for {
		seed, plan, more := r.take()
		if !more {
			return
		}
		r.played(plan, sim.Run(seed, plan, nil))
	}
}

// take returns the next world, if another one begins.
func (r *running) take() (seed uint64, plan options.Plan, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil || time.Since(r.began) >= r.For {
		return 0, options.Plan{}, false
	}
	seed, plan = r.From+r.next, r.Plans[r.next%uint64(len(r.Plans))]
	r.next++
	return seed, plan, true
}

// played notes a world that is over.
func (r *running) played(plan options.Plan, result sim.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.add(plan, result)
	if result.Violation == nil {
		return
	}
	fmt.Fprintf(r.Out, "soak: VIOLATION in seed %d: %v\n", result.Seed, result.Violation)
	if r.failed == nil {
		r.failed = &failure{seed: result.Seed, plan: plan, what: result.Violation}
	}
}

// say prints a line of progress.
func (r *running) say() {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(r.began)
	fmt.Fprintf(r.Out, "soak: minutes=%.1f %v\n", took.Minutes(), r.tally.rates(took, r.Workers))
}

// explain tells how the first violation came about, with as few faults as it needs.
func (r *running) explain() {
	f := r.failed
	fmt.Fprintf(r.Out, "soak: seed %d broke a promise: %v\nsoak: looking for the fewest faults with which it does\n",
		f.seed, f.what)
	plan := sim.Shrink(f.seed, f.plan)
	story := trace.NewTail(r.Story)
	again := sim.Run(f.seed, plan, story)
	fmt.Fprintf(r.Out, "\nthe last %d records of its story:\n", r.Story)
	story.Print(r.Out)
	fmt.Fprintf(r.Out, "\n%v\nreplay: %s\n", again.Violation, sim.Replay(f.seed, plan))
}
