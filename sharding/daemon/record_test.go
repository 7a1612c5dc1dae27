package daemon

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// drawToken draws what a coordinator may have: epochs and up numbers of any size.
func drawToken(t *rapid.T) ddata.FencingToken {
	epoch := rapid.OneOf(rapid.Uint64Range(1, 3), rapid.Uint64Range(1<<32-1, 1<<32+3), rapid.Uint64())
	up := rapid.OneOf(rapid.Uint32Range(1, 3), rapid.Uint32())
	return ddata.FencingToken{Era: 7, Epoch: view.Epoch(epoch.Draw(t, "epoch")), Up: up.Draw(t, "up"), Seq: 1}
}

type register = crdt.Standalone[crdt.LWWRegister[State], *crdt.LWWRegisterTx[State]]

func newRegister(origin crdt.Origin) *register {
	return crdt.New[crdt.LWWRegister[State], *crdt.LWWRegisterTx[State]](origin)
}

// write has the coordinator of a token write into a replica.
func write(r *register, by ddata.FencingToken, s State) (crdt.Group, error) {
	return r.Update(func(tx *crdt.LWWRegisterTx[State]) error { return putState(tx, by, s) })
}

func stateOf(t *rapid.T, r *register) State {
	v, err := r.Value()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := v.Get()
	return s
}

// What a coordinator wrote before its successor began may come late: the successor's writes stay,
// and the former one's next write finds them.
func TestLaterCoordinatorWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		former, later := drawToken(t), drawToken(t)
		if former.Compare(later) == 0 {
			later.Up ^= 1
		}
		if later.Less(former) {
			former, later = later, former
		}
		a, b := newRegister(1), newRegister(2)
		revision := rapid.Uint64Range(0, 3).Draw(t, "revision")
		began := State{Revision: revision, Count: 1}
		first, err := write(a, former, began)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Apply(first); err != nil {
			t.Fatal(err)
		}
		var late []crdt.Group
		for range rapid.IntRange(1, 3).Draw(t, "late writes") {
			g, err := write(a, former, State{Revision: revision, Count: 2})
			if err != nil {
				t.Fatal(err)
			}
			late = append(late, g)
		}
		last := State{Revision: revision, Count: 3}
		news, err := write(b, later, last)
		if err != nil {
			t.Fatalf("%v after %v: %v", later, former, err)
		}
		for _, g := range late {
			if _, err := b.Apply(g); err != nil {
				t.Fatal(err)
			}
		}
		if got := stateOf(t, b); got != last {
			t.Fatalf("%v wrote %v, late writes of %v made it %v", later, last, former, got)
		}
		if _, err := a.Apply(news); err != nil {
			t.Fatal(err)
		}
		if _, err := write(a, former, State{Revision: revision, Count: 4}); !errors.Is(err, errTorn) {
			t.Fatalf("%v writes over %v: %v", former, later, err)
		}
	})
}

// A coordinator replaces what it wrote itself, and never goes back to an earlier revision.
func TestRevisionsRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, by := newRegister(1), drawToken(t)
		for n := range 3 {
			s := State{Revision: 5, Count: n + 1}
			if _, err := write(r, by, s); err != nil || stateOf(t, r) != s {
				t.Fatalf("write %d: %v, %v", n+1, stateOf(t, r), err)
			}
		}
		after := ddata.FencingToken{Era: 7, Epoch: by.Epoch | 1<<63, Up: 1<<32 - 1}
		for _, token := range []ddata.FencingToken{by, after} {
			if _, err := write(r, token, State{Revision: 4, Count: 9}); !errors.Is(err, errTorn) {
				t.Fatalf("%v goes back to revision 4: %v", token, err)
			}
		}
	})
}
