package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// timeline is the world's queue of events as one process sees it.
type timeline struct {
	p   *Process
	rng *rand.Rand // draws what comes first of what is ready at one time
}

var _ routine.Timeline = (*timeline)(nil)

// Now implements routine.Timeline.
func (t *timeline) Now() time.Time { return t.p.Time() }

// At implements routine.Timeline.
func (t *timeline) At(due time.Time, fn func()) {
	t.p.w.at(t.p.clock.When(due)+random.Between(t.rng, 0, 300_000), t.p, fn)
}

// Soon implements routine.Timeline.
func (t *timeline) Soon(fn func()) { t.p.w.at(t.p.w.now+random.Between(t.rng, 500, 50_000), t.p, fn) }

// Uint64 implements routine.Timeline.
func (t *timeline) Uint64() uint64 { return t.rng.Uint64() }
