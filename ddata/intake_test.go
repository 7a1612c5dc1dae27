package ddata

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Whoever floods a machine crowds out nobody but himself; strangers share what there is for them.
func TestIntakeIsShared(t *testing.T) {
	n := &Node{}
	n.view.Store(&membership.View{Members: []membership.Member{{UID: 1}, {UID: 2}}})
	i := newIntake(n)
	var held []parcel
	fill := func(from func(int) transport.NodeID) (got int) {
		for k := range 2 * memberShare {
			if p, ok := i.admit(from(k)); ok {
				held = append(held, p)
				got++
			}
		}
		return got
	}
	if got := fill(func(k int) transport.NodeID { return transport.NodeID(100 + k) }); got != strangersShare {
		t.Errorf("strangers have %d messages waiting", got)
	}
	for _, id := range []transport.NodeID{1, 2} {
		if got := fill(func(int) transport.NodeID { return id }); got != memberShare {
			t.Errorf("a member has %d messages waiting", got)
		}
	}
	if want := uint64(2*memberShare - strangersShare + 2*memberShare); n.crowdedOut.Load() != want {
		t.Errorf("%d were counted, %d given up", n.crowdedOut.Load(), want)
	}
	for _, p := range held {
		p.taken()
	}
	if i.strangers != 0 || len(i.waiting) != 0 {
		t.Errorf("%d and %v still wait", i.strangers, i.waiting)
	}
	if _, ok := i.admit(1); !ok {
		t.Error("no room though nothing waits")
	}
}
