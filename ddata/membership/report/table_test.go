package report

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestWhatIsSaidForGoodStays: no later heartbeat takes back that a member leaves, has stopped or
// parts, and no view does. Frozen belongs to one epoch.
func TestWhatIsSaidForGoodStays(t *testing.T) {
	now, own := time.Unix(1000, 0), &Own{}
	table := NewTable(1, own)
	v := &view.View{Members: []view.Member{{UID: 1}, {UID: 2}}}
	table.Follow(v)
	if news, settled := table.Hear(2, now, Said{Flags: Stopped | CaughtUp | Frozen, Settled: 3}); !news || !settled {
		t.Error("nothing new in the first word")
	}
	table.Hear(2, now, Said{Settled: 2})
	if got := table.Flags(2); got != Stopped || table.Settled(2) != 3 {
		t.Errorf("%v, settled %v", got, table.Settled(2))
	}
	table.Hear(2, now, Said{Flags: Frozen})
	if table.FrozenAt(2) != now {
		t.Error("not frozen")
	}
	table.Follow(v)
	if got := table.Flags(2); got != Stopped || !table.FrozenAt(2).IsZero() {
		t.Errorf("in the next epoch: %v", got)
	}
	if table.HearForGood(2, CaughtUp) || !table.HearForGood(2, Parting) || table.HearForGood(3, Parting) {
		t.Error("what another epoch says is taken wrongly")
	}
	if err := table.Check(v); err != nil {
		t.Error(err)
	}
}

// TestTableAnswersForThisNode: by what the node says of itself.
func TestTableAnswersForThisNode(t *testing.T) {
	own := &Own{}
	table := NewTable(1, own)
	if !own.Leave() || own.Leave() || !own.CatchUp(true) || own.CatchUp(true) || !own.Settle(4) ||
		own.Settle(3) || !own.Move(2) {
		t.Error("what is new is told wrongly")
	}
	if got := table.Flags(1); got != Leaving|CaughtUp || table.Settled(1) != 4 ||
		table.Moved(1) != 2 || table.Stopped(1) {
		t.Errorf("%v, settled %v, moved %d", got, table.Settled(1), table.Moved(1))
	}
}
