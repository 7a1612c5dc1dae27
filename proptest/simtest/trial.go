package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// act is an operation of a client at its time.
type act[M any] struct {
	at     time.Duration
	node   int // through which the client comes
	entity int
	op     Op[M]
}

// hold has the node of an entity stand still in a call to a store, until another node has taken over.
type hold struct {
	at     time.Duration
	entity int
	in     journals.Standstill
}

// outage keeps a node from the stores.
type outage struct {
	at, long time.Duration
	node     int
}

func (o outage) String() string {
	return fmt.Sprintf("n%d does not reach the stores for %v", o.node, o.long)
}

// trial is what happens in one world: all that is drawn.
type trial[M any] struct {
	seed    uint64
	acts    []act[M]
	faults  []workload.Harm
	holds   []hold
	outages []outage
	store   journals.Faults
	length  time.Duration
	last    Op[M] // of each entity, when all is well
	queued  bool  // producers have queues
}

// Pauses between two steps, how long faults last, and when nodes stand still in a call.
var (
	gaps    = []time.Duration{time.Millisecond, 200 * time.Millisecond, 2 * time.Second, 12 * time.Second}
	spans   = []time.Duration{20 * time.Second, 5 * time.Second, time.Second, 200 * time.Millisecond}
	moments = []journals.Moment{journals.Leaving, journals.Arriving, journals.Stored}
)

// kind is what a step is.
type kind int

// The kinds of steps: after these come the faults of the world.
const (
	anAct kind = iota
	aHold
	anOutage
	aFault // the first kind
)

// Kinds of steps, each drawn with the same chance.
var (
	ofEntities = []kind{
		anAct, anAct, anAct, anAct, anAct, anAct, anAct, anAct, anAct, anAct, aHold, aHold, anOutage,
		aFault + kind(workload.Pause), aFault + kind(workload.Crash), aFault + kind(workload.Leave),
		aFault + kind(workload.Cut), aFault + kind(workload.SlowDisk),
	}
	ofSingletons = []kind{
		aHold, aHold, aHold, aHold, anOutage,
		aFault + kind(workload.Pause), aFault + kind(workload.Pause), aFault + kind(workload.Crash),
		aFault + kind(workload.Leave), aFault + kind(workload.Cut), aFault + kind(workload.Cut),
		aFault + kind(workload.SlowDisk),
	}
	ofData = []kind{
		anAct, anAct, anAct, anAct, anAct, anAct, anAct, anAct,
		aFault + kind(workload.Pause), aFault + kind(workload.Crash), aFault + kind(workload.Leave),
		aFault + kind(workload.Cut), aFault + kind(workload.Cut), aFault + kind(workload.SlowDisk),
	}
)

// step is one step of a trial, as it is drawn.
type step[M any] struct {
	gap  time.Duration
	kind kind
	long time.Duration
	in   journals.Standstill
	act[M]
}

// fault is the fault of the world that the step is.
func (s step[M]) fault(at time.Duration) workload.Harm {
	return workload.Harm{At: at, For: s.long, Kind: workload.Kind(s.kind - aFault), Node: s.node}
}

// settleAfter is how long the world goes on after the last step.
const settleAfter = 2 * time.Second

// draw draws a trial. What a step is comes from the seed, and is the same whatever becomes of the steps
// before it. So rapid, which makes failures small, has two questions for each step: whether it happens,
// and whether there is a pause before it. A step that does not happen keeps its pause.
func draw[M any](t *rapid.T, size Size, kinds []kind, op func(*rapid.T) Op[M]) *trial[M] {
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
	r := rand.New(rand.NewPCG(seed, 0))
	x := &trial[M]{seed: seed, store: journals.Faults{
		Delay: 5 * time.Millisecond, Fails: random.Pick(r, 0, 0, 0.05), Loses: random.Pick(r, 0, 0, 0.05),
	}}
	now := time.Duration(0)
	for range size.Steps {
		s := drawStep[M](r, size, kinds)
		happens, pauses := rapid.Bool().Draw(t, "happens"), rapid.Bool().Draw(t, "pauses")
		if now += 10 * time.Millisecond; pauses {
			now += s.gap
		}
		if s.kind == anAct {
			s.op = op(t)
		}
		if happens {
			x.add(now, s)
		}
	}
	x.length, x.queued = max(x.length, now)+settleAfter, r.IntN(2) == 0
	return x
}

// drawStep draws a step, except for the operation.
func drawStep[M any](r *rand.Rand, size Size, kinds []kind) (s step[M]) {
	s.kind, s.gap, s.long = random.Pick(r, kinds...), random.Pick(r, gaps...), random.Pick(r, spans...)
	s.node, s.entity = r.IntN(size.Nodes), r.IntN(size.Entities)
	s.in = journals.Standstill{Skip: r.IntN(3), When: random.Pick(r, moments...)}
	return s
}

// add adds a step.
func (x *trial[M]) add(now time.Duration, s step[M]) {
	switch s.at = now; s.kind {
	case anAct:
		x.acts = append(x.acts, s.act)
		return
	case aHold:
		x.holds = append(x.holds, hold{now, s.entity, s.in})
	case anOutage:
		x.outages = append(x.outages, outage{now, s.long, s.node})
	default:
		x.faults = append(x.faults, s.fault(now))
	}
	x.length = max(x.length, now+s.long)
}

// GoString is the trial as rapid prints it. The story tells more.
func (x *trial[M]) GoString() string {
	return fmt.Sprintf("seed %d, %d operations, %d faults, %v", x.seed, len(x.acts), x.steps()-len(x.acts), x.length)
}

// steps is of how many steps the trial is.
func (x *trial[M]) steps() int { return len(x.acts) + len(x.faults) + len(x.holds) + len(x.outages) }

// without is the trial without one of its steps, by its place among all. It takes as long.
func (x *trial[M]) without(i int) *trial[M] {
	less := *x
	for _, leave := range []func(i int) (n int){
		leaveOut(&less.acts), leaveOut(&less.faults), leaveOut(&less.holds), leaveOut(&less.outages),
	} {
		i -= leave(i)
	}
	return &less
}

// leaveOut makes a function that takes out of some steps the one at a place, if there are so many, and
// says how many there were.
func leaveOut[T any](steps *[]T) func(i int) int {
	return func(i int) int {
		n := len(*steps)
		if 0 <= i && i < n {
			*steps = slices.Delete(slices.Clone(*steps), i, i+1)
		}
		return n
	}
}

// entities are the numbers of the entities that are used, in order.
func (x *trial[M]) entities() (all []int) {
	for _, a := range x.acts {
		all = append(all, a.entity)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// idOf names an entity.
func idOf(n int) string { return fmt.Sprintf("e%d", n) }

// numberOf is the number in the name of an entity; known is false of what clients do not name.
func numberOf(id string) (n int, known bool) {
	digits, is := strings.CutPrefix(id, "e")
	n, err := strconv.Atoi(digits)
	return n, is && err == nil
}
