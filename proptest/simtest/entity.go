package simtest

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/sharding"
)

// Entity is an entity type under test. Fill it in, and Check it in a test.
type Entity[M, S any] struct {
	// Begin is called before each world, to empty what nodes share. Optional.
	Begin func()
	// Start makes the type, as the service does, with the stores of a node. Required. The simulator
	// sets the type's Role.
	Start func(*Node) (sharding.EntityType[M], error)
	// Op draws an operation of a client: Ask, Tell or Deliver. Required.
	Op func(*rapid.T) Op[M]
	// Final is what each entity is asked in the end, when all is well: an Ask. Default: one that Op draws.
	Final *Op[M]
	// Model says what an entity with a state does with a message: the state after it, and the reply.
	// It begins with the zero S. It must not change a state in place, and is called again for states
	// that it has seen. A reply that is an error stands for all that errors.Is finds equal; only those of
	// EntityType.Errors are answers. Required.
	//
	// Write it from what the entity is for, and not from its code.
	Model func(before S, msg M) (after S, reply any)
	// Internal reports whether a message comes from elsewhere than from clients: from a timer, a
	// reminder, or another entity. To the Model it happens once, at some time after its handler has
	// begun, or never. Default: none does.
	Internal func(M) bool
	// Repeats says that messages which are delivered may take effect again. To the Model such a message
	// then happens, or not, once more for each time that a handler has it again: in another incarnation of
	// the entity, or after a failure. Default: it happens once.
	Repeats bool

	Size
}

// Size says how large the worlds are.
type Size struct {
	Nodes    int // default 3; at most 20
	Entities int // default 2
	Steps    int // operations and faults together, at most; default 30
}

// valid is the size with its defaults. One that no world can have ends the test.
func (s Size) valid(t testing.TB) Size {
	t.Helper()
	s = Size{cmp.Or(s.Nodes, 3), cmp.Or(s.Entities, 2), cmp.Or(s.Steps, 30)}
	if s.Nodes < 1 || s.Nodes > nodesMax || s.Entities < 1 || s.Steps < 1 {
		t.Fatalf("simtest: Size is %+v: want 1 to %d Nodes, and at least one of Entities and of Steps", s, nodesMax)
	}
	return s
}

// nodesMax is how many nodes a world has at most.
const nodesMax = 20

// Check runs the type in random worlds and holds it to its Model. The flags of rapid apply:
// -rapid.checks=1000 for more worlds, -rapid.seed for the same ones again. What fails is made small and
// kept in testdata/rapid, from where each later run plays it first, with the command that shows it again.
// Its story is printed. Two pages beside that show the story, and what was asked of the entity.
func (e Entity[M, S]) Check(t *testing.T) {
	t.Helper()
	check(t, e.valid(t))
}

// Fuzz makes a fuzz target of what Check does. Run it with -fuzzminimizetime 10x: else go test spends most of
// its time on making inputs smaller that have reached something new. A failure is made smaller and shown as that of
// Check is.
func (e Entity[M, S]) Fuzz(f *testing.F) { fuzz(f, e.valid(f)) }

func (e Entity[M, S]) valid(t testing.TB) subject[M] {
	t.Helper()
	if e.Start == nil || e.Op == nil || e.Model == nil {
		t.Fatal("simtest: Entity needs Start, Op and Model")
	}
	if e.Final != nil && !e.Final.asks() {
		t.Fatal("simtest: Entity.Final is no Ask: nothing would be heard in the end")
	}
	e.Size = e.Size.valid(t)
	return e
}

// draw implements subject.
func (e Entity[M, S]) draw(r *rapid.T) *trial[M] {
	x := draw(r, e.Size, ofEntities, e.op)
	if e.Final != nil {
		x.last = *e.Final
		return x
	}
	for range drawsMost {
		if x.last = e.op(r); x.last.asks() {
			return x
		}
	}
	r.Fatalf("simtest: none of %d operations of Entity.Op is an Ask, so there is no last question: set Entity.Final",
		drawsMost)
	return x
}

// op draws an operation. One without a message ends the test.
func (e Entity[M, S]) op(r *rapid.T) Op[M] {
	o := e.Op(r)
	if any(o.msg) == nil {
		r.Fatalf("simtest: Entity.Op drew an operation without a message: make it by Ask, Tell or Deliver")
	}
	return o
}

// drawsMost is how many operations are drawn to find one that asks.
const drawsMost = 100

// play implements subject.
func (e Entity[M, S]) play(x *trial[M], watch trace.Watcher) outcome[M] {
	if e.Begin != nil {
		e.Begin()
	}
	c := &clients[M, S]{e: &e, x: x}
	o := outcome[M]{x: x, story: &c.told, violation: run(x, e.Nodes, c.begin, watch)}
	if o.tally = c.tally; c.broke {
		o.picture = c.verdict.picture
	}
	return o
}
