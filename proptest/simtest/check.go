package simtest

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// outcome is what became of a trial.
type outcome[M any] struct {
	x         *trial[M]
	violation *sim.Violation // nil: no promise was broken
	story     *told
	tally     tally
	picture   func(io.Writer) error // of operations that no order explains; nil: there are none
}

// subject is what is under test.
type subject[M any] interface {
	// draw draws a trial.
	draw(*rapid.T) *trial[M]
	// play plays one in a world that is watched, or is not.
	play(*trial[M], trace.Watcher) outcome[M]
}

// check plays random trials, and shows the smallest that fails.
func check[M any](t *testing.T, s subject[M]) {
	t.Helper()
	play(t, s, func(prop func(*rapid.T)) { rapid.Check(t, prop) })
}

// fuzz has a fuzzer draw trials, and shows the smallest of one that fails.
func fuzz[M any](f *testing.F, s subject[M]) {
	f.Fuzz(func(t *testing.T, input []byte) {
		play(t, s, func(prop func(*rapid.T)) { rapid.MakeFuzz(prop)(t, drawable(input)) })
	})
}

// play has draw play trials, and shows what fails.
func play[M any](t *testing.T, s subject[M], draw func(prop func(*rapid.T))) {
	t.Helper()
	var broken outcome[M] // the last one: rapid ends with the smallest
	var all tally
	defer func() {
		t.Log(&all)
		if broken.violation != nil {
			explain(t, s, smallest(s, broken))
		}
	}()
	draw(func(r *rapid.T) {
		o := s.play(drawn(r, s), nil)
		all.add(o.tally)
		if o.violation != nil {
			broken = o
			r.Fatalf("%v", o.violation)
		}
	})
}

// fuzzBytes is how much a trial may draw from: a number takes sixteen bytes or more.
const fuzzBytes = 256 << 10

// drawable makes what a fuzzer has made long enough for a trial. The first bytes are the seed of what follows the
// others: so each input plays a world, and one that differs in them plays another one. What a fuzzer makes by itself
// ends in the midst of nearly every trial.
func drawable(input []byte) []byte {
	var seed [8]byte
	n := copy(seed[:], input)
	more := rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), uint64(n))
	all := append(make([]byte, 0, len(input)+fuzzBytes), input[n:]...)
	for len(all) < fuzzBytes {
		all = binary.LittleEndian.AppendUint64(all, more.Uint64())
	}
	return all
}

// drawn draws a trial as one value, which rapid prints in one line.
func drawn[M any](r *rapid.T, s subject[M]) *trial[M] { return rapid.Custom(s.draw).Draw(r, "trial") }

// run runs the world of a trial.
func run[M any](x *trial[M], nodes int, begin workload.Begin, watch trace.Watcher) *sim.Violation {
	g := newGuard(stuckAfter)
	defer g.end()
	guarded := func(w workload.World, rs random.Streams, t *trace.Trace) workload.Workload {
		g.beat(w)
		return begin(w, rs, t)
	}
	return sim.Run(x.seed, options.Plan{CheckEvery: 20, Script: &workload.Script{
		Nodes: nodes, Length: x.length, Faults: x.faults, Begin: guarded,
	}}, watch).Violation
}
