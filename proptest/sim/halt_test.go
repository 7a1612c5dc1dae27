package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
)

// A process that stops within a step, and again while it carries out what waited, carries out each
// effect once, in the order of the steps.
func TestWhatWaitsKeepsItsOrder(t *testing.T) {
	w := newWorld(1, options.Plan{}, nil)
	p := &Process{w: w, slot: &Slot{}, rng: w.rs.Stream("process", 1), alive: true}
	var done []string
	step := func(name string) {
		for n := range 3 {
			p.effect(func() {
				if done = append(done, fmt.Sprint(name, n)); name == "a" && n == 2 {
					p.haltSoon(2, time.Second) // at the second effect of the next step
				}
			})
		}
	}
	var run func(name string)
	run = func(name string) { // as a host does
		if p.halt.waits() {
			p.effect(func() { run(name) })
		} else {
			step(name)
		}
	}
	p.haltSoon(2, time.Second)
	for _, name := range []string{"a", "b", "c"} {
		run(name)
	}
	if !slices.Equal(done, []string{"a0"}) {
		t.Fatalf("carried out before it went on: %v", done)
	}
	drain(t, w)
	if want := []string{"a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"}; !slices.Equal(done, want) || p.behind {
		t.Errorf("carried out %v, behind=%t", done, p.behind)
	}
	if w.counts.Halts != 2 {
		t.Errorf("it stopped %d times", w.counts.Halts)
	}
}
