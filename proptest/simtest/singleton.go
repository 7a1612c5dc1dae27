package simtest

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/singletons"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Singleton is what runs on one node at a time, under test. All nodes run it, as by ddata.Node.RunSingleton.
type Singleton struct {
	// Begin is called before each world, to empty what nodes share. Optional.
	Begin func()
	// Run is the singleton on a node: see ddata.SingletonConfig.Run. It calls what is outside of the cluster
	// by Node.Call, with its ctx, and waits by Node.Wait. Required.
	Run func(ctx context.Context, n *Node, token singletons.FencingToken) error
	// Invariant says what is wrong with what runs have left outside of the cluster; nil: nothing. It is
	// called after each Node.Call that was carried out, and in the end. It must change nothing. Optional.
	Invariant func() error

	Size // there are no Entities; Steps are faults
}

// none is the operation of a client where there are no clients.
type none struct{}

// Check runs the singleton in random worlds. At no instant two runs may have nodes that hold their leases,
// tokens rise from run to run, the Invariant holds, and when all is well it runs. See Entity.Check for flags
// and failures.
func (s Singleton) Check(t *testing.T) {
	t.Helper()
	check(t, s.valid(t))
}

// Fuzz makes a fuzz target of what Check does. Run it with -fuzzminimizetime 10x: else go test spends most of
// its time on making inputs smaller that have reached something new. A failure is made smaller and shown as that of
// Check is.
func (s Singleton) Fuzz(f *testing.F) { fuzz(f, s.valid(f)) }

func (s Singleton) valid(t testing.TB) subject[none] {
	t.Helper()
	if s.Run == nil {
		t.Fatal("simtest: Singleton needs Run")
	}
	s.Size = s.Size.valid(t)
	return s
}

// draw implements subject.
func (s Singleton) draw(r *rapid.T) *trial[none] { return draw[none](r, s.Size, ofSingletons, nil) }

// play implements subject.
func (s Singleton) play(x *trial[none], watch trace.Watcher) outcome[none] {
	if s.Begin != nil {
		s.Begin()
	}
	c := &stage{s: &s, x: x}
	return outcome[none]{x: x, story: &c.told, violation: run(x, s.Nodes, c.begin, watch)}
}
