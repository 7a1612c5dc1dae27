package quorum

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

func joint(complete bool, sets ...Set[crdt.Origin]) *Joint[crdt.Origin] {
	j := &Joint[crdt.Origin]{}
	j.Replace(complete, sets)
	return j
}

func among(ids ...crdt.Origin) func(crdt.Origin) bool {
	return func(id crdt.Origin) bool { return slices.Contains(ids, id) }
}

// An operation needs enough members of each set, and nothing is agreed while a set is missing. The
// own replica is asked as the zero peer.
func TestEachSetMustAgree(t *testing.T) {
	newest := Set[crdt.Origin]{Epoch: 5, Size: 3, Self: true, Peers: []crdt.Origin{2, 3}, Newest: true}
	older := Set[crdt.Origin]{Epoch: 4, Size: 5, Peers: []crdt.Origin{3, 4, 5}}
	j := joint(true, newest, older)
	for _, r := range []struct {
		has  []crdt.Origin
		want bool
	}{
		{[]crdt.Origin{0, 2}, false}, {[]crdt.Origin{0, 3, 4, 5}, true}, {[]crdt.Origin{3, 4, 5}, false},
		{[]crdt.Origin{0, 2, 3, 4}, false},
	} {
		if got := j.Agreed(Majority, among(r.has...)); got != r.want || got && !j.MayAgree(Majority, len(r.has)) {
			t.Errorf("%v agree: %v", r.has, got)
		}
	}
	if j.MayAgree(Majority, 2) || !j.MayAgree(Majority, 3) || j.MayAgree(All, 2) {
		t.Error("the older set needs three")
	}
	if j.Taught(1, among(2, 3, 4, 5)) || !j.Taught(3, among(2, 3, 4, 5)) || j.Taught(4, among(2, 3, 4)) {
		t.Error("the older set has three others")
	}
	if joint(false, newest).Agreed(Majority, among(0, 2, 3)) {
		t.Error("agreed though a set is missing")
	}
	base := func(id crdt.Origin) (uint64, bool) { return 10 * uint64(id+1), id != 4 }
	if got := j.Reach(Majority, 0, base); got != 0 { // 4 does not count, so that the older set has two of three
		t.Errorf("reach %d", got)
	}
	if got := joint(true, newest).Reach(Majority, 30, base); got != 30 {
		t.Errorf("reach %d, want 30", got)
	}
	// the own replica 40, the others 20 and 10
	ahead := func(id crdt.Origin) (uint64, bool) { return 40 - 10*uint64(id), true }
	if got := joint(true, newest).Reach(To(1), 40, ahead); got != 40 {
		t.Errorf("reach %d, want that of the own replica", got)
	}
	if got := joint(true, newest).Reach(Majority, 31, base); got != 0 {
		t.Errorf("two of three have reached 31: reach %d", got)
	}
}

// Of an older view no more members are asked for than are left, and it is known when that was less
// than every majority meets.
func TestAnOlderViewNeverBlocksItsSurvivors(t *testing.T) {
	past := PastView{Epoch: 1, Voters: []crdt.Origin{1, 7, 8, 9}}
	v := SetOf(past, Member{ID: 1}, []Member{{ID: 2}, {ID: 9}})
	if !v.Self || !slices.Equal(v.Peers, []crdt.Origin{9}) || v.Need(All) != 2 || v.MajorityGone() {
		t.Errorf("%+v", v)
	}
	if v = SetOf(past, Member{ID: 1}, []Member{{ID: 2}}); v.Need(Majority) != 1 || !v.MajorityGone() {
		t.Errorf("%+v", v)
	}
}

// One disk is one vote, that of a voter before that of a learner.
func TestADiskHasOneCarrier(t *testing.T) {
	past := PastView{Epoch: 1, Disks: []uint64{70, 80, 90}}
	v := SetOf(past, Member{ID: 1, Disk: 70}, []Member{
		{ID: 2, Disk: 80}, {ID: 3, Disk: 80, Voter: true}, {ID: 4, Disk: 70},
	})
	if !v.Self || !slices.Equal(v.Peers, []crdt.Origin{3}) || v.Size != 3 {
		t.Errorf("%+v", v)
	}
}

// The chain is complete when no view is missing between the settled one and the installed one, and
// counts only views whose voters differ from those of the next.
func TestChainOfUnsettledViews(t *testing.T) {
	c := Chain{}
	c.Install(1, []crdt.Origin{1})
	if !c.Settle(1) || !c.Complete() || c.Unsettled() {
		t.Fatalf("%+v", c)
	}
	c.Install(4, []crdt.Origin{2, 3})
	c.Add(PastView{Epoch: 3, Voters: []crdt.Origin{2, 3}})
	if c.Complete() || c.Newest() != 0 {
		t.Fatal("view 2 is missing")
	}
	c.Add(PastView{Epoch: 2, Voters: []crdt.Origin{1, 2}})
	c.Add(PastView{Epoch: 1, Voters: []crdt.Origin{1}})
	if ps := c.Pasts(); !c.Complete() || len(ps) != 2 || ps[0].Epoch != 2 || c.Since() != 3 {
		t.Fatalf("%+v", ps)
	}
	if !c.Settle(4) || c.Settle(4) || len(c.Known()) != 0 || c.Check() != nil {
		t.Fatalf("%+v", c)
	}
}
