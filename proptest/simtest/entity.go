package simtest

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
)

// Entity is an entity type under test. Fill it in, and Check it in a test.
type Entity[M, S any] struct {
	// Begin is called before each world, to empty what nodes share. Optional.
	Begin func()
	// Start makes the type, as the service does, with the stores of a node. Required. The simulator
	// sets the type's Role.
	Start func(*Node) (sharding.EntityType[M], error)
	// Op draws an operation of a client: Ask or Tell. Required.
	Op func(*rapid.T) Op[M]
	// Final is what each entity is asked in the end, when all is well. Default: an Ask that Op draws.
	Final *Op[M]
	// Model says what an entity with a state does with a message: the state after it, and the reply.
	// It begins with the zero S, which is not changed in place. A reply that is an error stands for
	// all that errors.Is finds equal; only those of EntityType.Errors are answers. Required.
	//
	// Write it from what the entity is for, and not from its code.
	Model func(before S, msg M) (after S, reply any)
	// Internal reports whether a message comes from elsewhere than from clients: from a timer, a
	// reminder, or another entity. To the Model it happens once, at some time after its handler has
	// begun, or never. Default: none does.
	Internal func(M) bool

	Size
}

// Size says how large the worlds are.
type Size struct {
	Nodes    int // default 3
	Entities int // default 2
	Steps    int // operations and faults together, at most; default 30
}

func (s Size) withDefaults() Size {
	return Size{cmp.Or(s.Nodes, 3), cmp.Or(s.Entities, 2), cmp.Or(s.Steps, 30)}
}

// Check runs the type in random worlds and holds it to its Model. The flags of rapid apply:
// -rapid.checks=1000 for more worlds, -rapid.seed for the same ones again. What fails is made small and
// kept in testdata/rapid, from where each later run plays it first, with the command that shows it again.
// Its story is printed. Two pages beside that show the story, and what was asked of the entity.
func (e Entity[M, S]) Check(t *testing.T) {
	t.Helper()
	e.valid(t)
	var broken *clients[M, S] // the last one: rapid ends with the smallest
	defer func() {
		if broken != nil {
			broken.smallest().explain(t)
		}
	}()
	rapid.Check(t, func(r *rapid.T) {
		if c := e.try(r); c.result.Violation != nil {
			broken = c
			r.Fatalf("%v", c.result.Violation)
		}
	})
}

// Fuzz makes a fuzz target of what Check does.
func (e Entity[M, S]) Fuzz(f *testing.F) {
	e.valid(f)
	f.Fuzz(rapid.MakeFuzz(func(r *rapid.T) {
		if c := e.try(r); c.result.Violation != nil {
			r.Fatalf("%v\n%v", c.result.Violation, &c.story)
		}
	}))
}

func (e Entity[M, S]) valid(t testing.TB) {
	t.Helper()
	if e.Start == nil || e.Op == nil || e.Model == nil {
		t.Fatal("simtest: Entity needs Start, Op and Model")
	}
}

// try plays one world.
func (e Entity[M, S]) try(r *rapid.T) *clients[M, S] {
	e.Size = e.Size.withDefaults()
	x := rapid.Custom(func(r *rapid.T) *trial[M] {
		x := draw(r, e.Size, e.Op)
		if e.Final != nil {
			x.last = *e.Final
		} else {
			x.last = rapid.Custom(e.Op).Filter(Op[M].asks).Draw(r, "the last question")
		}
		return x
	}).Draw(r, "trial")
	return play(&e, x, nil)
}

// play plays a trial in a world that is watched, or is not.
func play[M, S any](e *Entity[M, S], x *trial[M], watch trace.Watcher) *clients[M, S] {
	if e.Begin != nil {
		e.Begin()
	}
	c := &clients[M, S]{e: e, x: x}
	c.result = sim.Run(x.seed, options.Plan{CheckEvery: 20, Script: &workload.Script{
		Nodes: e.Nodes, Length: x.length, Faults: x.faults, Begin: c.begin,
	}}, watch)
	return c
}
