package simtest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// Data is a replicated data type under test: the one of Laws, as a key of a durable space on all nodes. Its
// Check is for what Laws.Check does not play, which are the machines and drivers that replicate it.
type Data[V crdt.Value[V, T], T, O any] struct {
	Laws  proptest.Laws[V, T, O] // Op, Do, Value and Model are required
	Nodes int                    // default 3; at most 20
	Steps int                    // changes and faults together, at most; default 30
}

// Check has clients change the key on the nodes of random worlds, at Local and at Majority, and holds what
// each node reads, at each change and in the end, to the Model: of what the node has. See Entity.Check for
// flags and failures.
func (d Data[V, T, O]) Check(t *testing.T) {
	t.Helper()
	check(t, d.valid(t))
}

// Fuzz makes a fuzz target of what Check does. Run it with -fuzzminimizetime 10x: else go test spends most of
// its time on making inputs smaller that have reached something new. A failure is made smaller and shown as that of
// Check is.
func (d Data[V, T, O]) Fuzz(f *testing.F) { fuzz(f, d.valid(f)) }

func (d Data[V, T, O]) valid(t testing.TB) subject[O] {
	t.Helper()
	if l := d.Laws; l.Op == nil || l.Do == nil || l.Value == nil || l.Model == nil {
		t.Fatal("simtest: Data.Laws needs Op, Do, Value and Model")
	}
	valid := d.size().valid(t)
	d.Nodes, d.Steps = valid.Nodes, valid.Steps
	return d
}

func (d Data[V, T, O]) size() Size { return Size{Nodes: d.Nodes, Entities: 1, Steps: d.Steps} }

// draw implements subject.
func (d Data[V, T, O]) draw(r *rapid.T) *trial[O] {
	return draw(r, d.size(), ofData, func(r *rapid.T) Op[O] { return Tell(d.Laws.Op.Draw(r, "operation")) })
}

// play implements subject.
func (d Data[V, T, O]) play(x *trial[O], watch trace.Watcher) outcome[O] {
	c := &writers[V, T, O]{d: &d, x: x}
	begin := func(w workload.World, _ random.Streams, t *trace.Trace) workload.Workload {
		c.begin(w, t)
		return c
	}
	v := run(x, d.Nodes, begin, watch)
	return outcome[O]{x: x, story: &c.told, tally: c.tally, violation: v}
}
