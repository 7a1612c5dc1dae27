package coordinator

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// errDeposed is what a ledger says to the coordinator of an earlier term.
var errDeposed = fmt.Errorf("%w: 9.1.1 after 1.1.1", protocol.ErrDeposed)

// newLedgered is an active coordinator of nodes 1 and 2, with a ledger.
func newLedgered(t *testing.T) *lone {
	l := newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1,
		Coordination: protocol.Coordination[bool]{Ledger: true},
	}, 1, 2)
	l.report(1)
	l.report(2)
	if !l.c.Acts() {
		t.Fatalf("it does not act: %v", l.c)
	}
	return l
}

// A coordinator whose write the ledger refuses, because a later one has begun, says so and does not
// act any more. Its next term begins with reads of a higher token.
func TestDeposed(t *testing.T) {
	l := newLedgered(t)
	was := l.c.term.store.term
	if was.IsZero() || was.Seq != l.c.term.registrar.floor.Seq {
		t.Fatalf("the term is %v, the floor %v", was, l.c.term.registrar.floor)
	}
	l.c.Step(l.now, protocol.Receive{From: 2, Msg: protocol.Register{Compatibility: l.c.cfg.Compatibility()}})
	got := l.step(protocol.Receive{From: 2, Msg: protocol.GetHomes{Shards: []protocol.ShardID{3}}})
	l.expect(got, "write #", "homes 3→")
	id := uint64(0)
	for _, w := range l.c.fx.Write {
		if w.Kind == protocol.StateHomes {
			id = w.ID
		}
		if w.By != was {
			t.Errorf("%v is of term %v, want %v", w, w.By, was)
		}
	}
	got = l.step(protocol.Wrote{ID: id, Err: errDeposed})
	l.expect(got, "coordinator-deposed!", "9.1.1 after 1.1.1", "coordinator-stopped", "homes", "regions")
	if l.c.Acts() || l.c.term.mode != reading {
		t.Errorf("it goes on in mode %v", modeNames[l.c.term.mode])
	}
	if now := l.c.term.store.term; !was.Less(now) {
		t.Errorf("the next term is %v, the former was %v", now, was)
	}
	for _, r := range l.c.fx.Read {
		if r.By != l.c.term.store.term {
			t.Errorf("%v is of term %v, want %v", r, r.By, l.c.term.store.term)
		}
	}
	// what comes of the former term changes nothing
	l.step(protocol.Wrote{ID: id, Err: errDeposed})
	if l.c.term.mode != reading {
		t.Errorf("a late answer moved it to mode %v", modeNames[l.c.term.mode])
	}
}

// A coordinator whose reads are refused tries higher tokens, tells of it, and begins when the ledger
// takes one: that of a later view.
func TestDeposedUntilALaterView(t *testing.T) {
	l := newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1,
		Coordination: protocol.Coordination[bool]{Ledger: true},
	})
	l.c.onInstall(viewOf(2, 1))
	l.c.endTerm()
	l.c.term.becomeReading()
	homes, regions := l.c.term.takeover.homes, l.c.term.takeover.regions
	l.expect(l.step(protocol.DidRead{ID: homes.ID, Err: errDeposed}), "state-delayed", "9.1.1 after 1.1.1")
	l.step(protocol.DidRead{ID: regions.ID, Err: errDeposed})
	l.step(protocol.Install{View: viewOf(9, 1)})
	told := ""
	for range 20 {
		l.now = l.now.Add(protocol.SlowAfter)
		told += l.step(protocol.Tick{})
	}
	l.expect(told, "state-failed!")
	homes, regions = l.c.term.takeover.homes, l.c.term.takeover.regions
	if homes.ID == failedRead || homes.By.Epoch != view.Epoch(2) {
		t.Errorf("it reads again as %v", homes.By) // refused before the view came
	}
	l.step(protocol.DidRead{ID: homes.ID, Err: errDeposed})
	l.step(protocol.DidRead{ID: regions.ID, Err: errDeposed})
	l.now = l.now.Add(protocol.SlowAfter)
	l.step(protocol.Tick{})
	homes, regions = l.c.term.takeover.homes, l.c.term.takeover.regions
	if homes.By.Epoch != 9 || regions.By != homes.By {
		t.Errorf("it reads as %v and %v in epoch 9", homes.By, regions.By)
	}
	l.step(protocol.DidRead{ID: homes.ID})
	l.step(protocol.DidRead{ID: regions.ID})
	l.report(1)
	if !l.c.Acts() || l.c.term.store.term != homes.By {
		t.Errorf("it does not act, or as %v: %v", l.c.term.store.term, l.c)
	}
}
