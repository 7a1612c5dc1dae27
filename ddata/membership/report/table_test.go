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
	table.Follow(&view.View{Members: []view.Member{{UID: 1}}})
	if table.Has(2) || table.Check(&view.View{Members: []view.Member{{UID: 1}}}) != nil {
		t.Error("a member that has gone is remembered")
	}
	if table.Follow(v); table.Flags(2) != 0 || table.Settled(2) != 0 {
		t.Error("one that comes anew has said something")
	}
	table.Hear(2, now, Said{Flags: Stopped})
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

// TestCrashedIsOfLateAndOfOneEpoch: what a member finds ended counts for a while, and in one epoch.
func TestCrashedIsOfLateAndOfOneEpoch(t *testing.T) {
	now := time.Unix(1000, 0)
	table := NewTable(1, &Own{})
	v := &view.View{Members: []view.Member{{UID: 1}, {UID: 2}, {UID: 3}}}
	table.Follow(v)
	if !table.HearCrashed(2, now, []view.UID{3}) || table.HearCrashed(2, now, []view.UID{3}) {
		t.Error("what is new is told wrongly")
	}
	if got := table.Crashed(2, now); len(got) != 1 || got[0] != 3 {
		t.Errorf("crashed: %v", got)
	}
	if table.Crashed(2, now.Add(1)) != nil || table.Crashed(3, now) != nil || table.Crashed(9, now) != nil {
		t.Error("what was said long ago, or never, counts")
	}
	table.Follow(v)
	if table.Crashed(2, now) != nil {
		t.Error("the next epoch knows it")
	}
}
