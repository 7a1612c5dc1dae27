package replicator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// add adds elements to a node-owned set.
func (n *node) own(key string, elems ...string) uint64 {
	n.w.seq++
	n.step(Update{ID: n.w.seq, Key: key,
		Mutate: crdt.Mutate[crdt.NodeSet[string]](func(s *crdt.NodeSetTx[string]) error {
			for _, e := range elems {
				if err := s.Add(e); err != nil {
					return err
				}
			}
			return nil
		})})
	return n.w.seq
}

func (n *node) owned(key string) []string {
	n.w.t.Helper()
	return ownedElems(n.w.t, n.m.Snapshot(n.m.SpaceOf(key)).View(key))
}

func ownedElems(t tb, r crdt.Reader) []string {
	t.Helper()
	v, err := crdt.ViewOf[crdt.NodeSet[string]](r)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(v.All())
}

func (n *node) wantOwned(key string, want ...string) {
	n.w.t.Helper()
	if got := n.owned(key); !slices.Equal(got, want) {
		n.w.t.Fatalf("%s holds %q in %q, want %q\n%s", wire.Short(n.id), got, key, want, n.w.dump())
	}
}

func (w *world) wantOwned(key string, want ...string) {
	w.t.Helper()
	for _, n := range w.nodes {
		if !n.down {
			n.wantOwned(key, want...)
		}
	}
}

// told returns what subscription 1 of a node has been told since, as elements.
func (n *node) told() (got []string) {
	n.w.t.Helper()
	for _, c := range n.changes {
		got = append(got, fmt.Sprintf("%v %v", ownedElems(n.w.t, c.Reader), c.Deleted))
	}
	n.changes = nil
	return got
}

func (n *node) wantTold(want ...string) {
	n.w.t.Helper()
	if got := n.told(); !slices.Equal(got, want) {
		n.w.t.Fatalf("%s is told %q, want %q", wire.Short(n.id), got, want)
	}
}

// items counts the items of a node in both spaces.
func (n *node) items() int {
	return n.m.Snapshot(keyspace.Volatile).Len() + n.m.Snapshot(keyspace.Durable).Len()
}

// R8: node ownership hides items in the view at once; one sweeper, the oldest, emits the removes.
func TestElementsOfARemovedMemberVanishAtOnceAndAreSweptByTheOldest(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
	a.own("s", "a", "all")
	b.own("s", "b", "all")
	c.own("s", "c", "all")
	c.own("d/s", "c")
	w.quiet()
	w.wantOwned("s", "a", "all", "b", "c")
	b.step(Subscribe{ID: 1, Prefix: "", All: true})
	b.changes = nil
	c.crash()
	made := a.m.spaces[keyspace.Volatile].Items.Seq() + b.m.spaces[keyspace.Volatile].Items.Seq()
	w.install(viewOf(2, 1, 2))
	w.wantOwned("s", "a", "all", "b")
	b.wantTold("[] true", "[a all b] false")
	if made != a.m.spaces[keyspace.Volatile].Items.Seq()+b.m.spaces[keyspace.Volatile].Items.Seq() || a.items() != 7 {
		t.Fatal("somebody made an event for it")
	}
	w.advance(5 * time.Second)
	w.same()
	if a.items() != 4 || len(b.disk.items) != 0 || a.m.site.Counters.Swept != 3 || b.m.site.Counters.Swept != 0 {
		t.Fatalf("%d items, %d rows, %d and %d swept",
			a.items(), len(b.disk.items), a.m.site.Counters.Swept, b.m.site.Counters.Swept)
	}
	b.wantTold() // of what was not shown
	w.wantOwned("s", "a", "all", "b")
	w.wantOwned("d/s")
}

// Late events of a removed member, which come by another, are hidden and swept.
func TestLateEventsOfARemovedMemberStayHidden(t *testing.T) {
	w := cluster(t, 3, settings.Config{})
	a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
	w.sever(1, 3)
	w.sever(1, 2)
	c.own("s", "late")
	w.quiet()
	b.wantOwned("s", "late")
	a.step(Subscribe{ID: 1, Key: "s"})
	c.crash()
	w.install(viewOf(2, 1, 2))
	w.mendAll()
	w.advance(time.Second)
	if a.m.site.Counters.Applied == 0 {
		t.Fatal("it did not come")
	}
	w.wantOwned("s")
	a.wantTold()
	w.advance(5 * time.Second)
	w.same()
	if a.items() != 0 {
		t.Fatal(w.dump())
	}
}

// A member that is cut off, and comes back before a view drops it, has lost nothing. All other
// members still see what it owns.
func TestMemberWhoIsCutOffKeepsWhatHeOwns(t *testing.T) {
	w := cluster(t, 3, settings.Config{})
	c := w.nodes[2]
	c.own("s", "c")
	w.quiet()
	w.isolate(3)
	c.own("s", "more")
	for _, n := range w.nodes {
		n.step(Reachable{3, false})
	}
	w.advance(time.Minute)
	w.nodes[0].wantOwned("s", "c")
	w.mendAll()
	for _, n := range w.nodes {
		n.step(Reachable{3, true})
	}
	w.advance(10 * time.Second)
	w.wantOwned("s", "c", "more")
	if w.nodes[0].m.site.Counters.Swept != 0 {
		t.Fatal("swept")
	}
}

// What dead incarnations owned is gone after a restart of everything, also from the disks.
func TestColdRestartForgetsWhatTheDeadOwned(t *testing.T) {
	w := cluster(t, 2, durableD)
	w.nodes[0].own("d/s", "a", "all")
	w.nodes[1].own("d/s", "b", "all")
	w.nodes[0].put("d/kept", "x", quorum.All)
	w.quiet()
	disks := []*rows{w.nodes[0].disk, w.nodes[1].disk}
	w.nodes[0].crash()
	w.nodes[1].crash()
	a, b := w.start(11, disks[0], 1), w.start(12, disks[1], 2)
	a.wantOwned("d/s")
	v := founded(10, 11, 12)
	v.Voters[0].Disk, v.Voters[1].Disk, v.LastDisks = 1, 2, [][]uint64{{1, 2}}
	w.install(v)
	w.wantOwned("d/s")
	b.own("d/s", "b")
	w.advance(10 * time.Second)
	w.same()
	w.wantOwned("d/s", "b")
	b.wantSet("d/kept", "x")
	if len(disks[0].items) != 2 || len(disks[1].items) != 2 {
		t.Fatalf("%d and %d rows", len(disks[0].items), len(disks[1].items))
	}
}

// A joiner is not in the oldest voter's view yet, and another member tells that voter of it. What
// the joiner owns is shown when the view comes, and never swept.
func TestWhatIsNotInTheViewYetIsNotSwept(t *testing.T) {
	for _, f := range []defect.Set{{}, defect.Of(defect.TidyInOldView)} {
		w := cluster(t, 3, planting(settings.Config{}, f))
		a, b := w.nodes[0], w.nodes[1]
		j := w.start(4, nil, 4)
		next := with(viewOf(2, 1, 2, 3), 4)
		for _, n := range w.nodes[1:] {
			n.step(Install{next})
		}
		w.advance(5 * time.Second)
		if !j.joined {
			t.Fatal("the joiner has not caught up")
		}
		j.own("s", "new")
		w.advance(5 * time.Second)
		if a.items()+b.items() != 2 && !f.Planted(defect.TidyInOldView) {
			t.Fatalf("the oldest has not heard of it, or has swept it\n%s", w.dump())
		}
		a.wantOwned("s")
		a.step(Subscribe{ID: 1, Key: "s"})
		a.step(Install{next})
		if got := a.told(); slices.Equal(got, []string{"[new] false"}) == f.Planted(defect.TidyInOldView) {
			t.Fatalf("with %+v the oldest is told %q", f, got)
		}
		w.advance(5 * time.Second)
		w.same()
		if got := b.owned("s"); slices.Equal(got, []string{"new"}) == f.Planted(defect.TidyInOldView) {
			t.Fatalf("with %+v: %q", f, got)
		}
	}
}

// The next oldest voter takes the role, and finds what the last one left. A view that is not
// settled hides as well as any other.
func TestNextOldestGoesOnTidying(t *testing.T) {
	w := cluster(t, 5, settings.Config{})
	for _, n := range w.nodes {
		n.own("s", fmt.Sprint("of ", uint64(n.id)), "all")
	}
	w.quiet()
	w.nodes[4].crash()
	w.install(viewOf(2, 1, 2, 3, 4))
	w.nodes[0].crash()
	w.nodes[1].crash()
	w.isolate(3)
	w.isolate(4)
	w.install(viewOf(3, 3, 4))
	w.advance(2 * time.Second)
	w.wantOwned("s", "all", "of 3", "of 4")
	if w.nodes[2].m.Settled() == 3 {
		t.Fatal("the view is settled")
	}
	w.mendAll()
	w.advance(20 * time.Second)
	w.same()
	if c, d := w.nodes[2], w.nodes[3]; c.items() != 4 || c.m.site.Counters.Swept != 6 || d.m.site.Counters.Swept != 0 {
		t.Fatalf("%d items, %d and %d swept", c.items(), c.m.site.Counters.Swept, d.m.site.Counters.Swept)
	}
}

// Before a view comes, no member is known to live. A member that is left out goes on showing what
// it showed.
func TestWithoutAViewOnlyTheOwnIsShown(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	a, b := w.nodes[0], w.nodes[1]
	a.own("s", "a")
	b.own("s", "b")
	w.quiet()
	b.step(Install{viewOf(2, 1)})
	b.wantOwned("s", "a", "b")
	if !b.m.Deadline().IsZero() {
		t.Fatal("a stranger has plans")
	}
}

// A sweep of many goes in bounded groups, and the rest soon after.
func TestSweepIsCutIntoGroups(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	a, b := w.nodes[0], w.nodes[1]
	for i := range 6 {
		elems := make([]string, 500)
		for k := range elems {
			elems[k] = fmt.Sprint(i, " ", k)
		}
		b.own("s", elems...)
	}
	w.quiet()
	b.crash()
	before := a.m.spaces[keyspace.Volatile].Items.Seq()
	w.install(viewOf(2, 1))
	w.advance(time.Second)
	if got := a.m.spaces[keyspace.Volatile].Items.Seq() - before; a.items() != 0 || got != 3 {
		t.Fatalf("%d items left after %d events", a.items(), got)
	}
}

func (n *node) deleteForever(key string, l quorum.Level) uint64 {
	n.w.seq++
	n.step(DeleteForever{ID: n.w.seq, Key: key, Write: l})
	return n.w.seq
}

// DeleteForever: one marker; updates and reads are refused; what was written at the same time is
// hidden, and removed by the oldest.
func TestDeleteForeverIsFinal(t *testing.T) {
	for _, key := range []string{"s", "d/s"} {
		w := cluster(t, 3, durableD)
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		a.put(key, "x", quorum.All)
		w.quiet()
		c.step(Subscribe{ID: 1, Key: key})
		c.changes = nil
		w.isolate(3)
		gone, late := b.deleteForever(key, quorum.Majority), c.put(key, "late", quorum.Local)
		w.quiet()
		b.want(gone, nil)
		c.want(late, nil)
		w.mendAll()
		w.advance(5 * time.Second)
		w.same()
		for _, n := range w.nodes {
			n.want(n.put(key, "y", quorum.Local), crdt.ErrDeleted)
			for _, l := range []quorum.Level{quorum.Local, quorum.Majority} {
				id := n.get(key, l)
				w.quiet()
				n.want(id, crdt.ErrDeleted)
			}
			w.seq++
			n.step(Delete{ID: w.seq, Key: key})
			n.want(w.seq, crdt.ErrDeleted)
			if n.items() != 1 || slices.Contains(slices.Collect(n.m.Snapshot(n.m.SpaceOf(key)).Keys("")), key) {
				t.Fatalf("%d items", n.items())
			}
		}
		if len(c.changes) != 2 || !c.changes[1].Deleted || !c.changes[1].Reader.Deleted() {
			t.Fatalf("changes %v", c.changes)
		}
		if a.m.site.Counters.Swept != 1 || len(a.disk.items) > 1 {
			t.Fatalf("%d swept, %d rows", a.m.site.Counters.Swept, len(a.disk.items))
		}
		// Once more is no error, and waits for its level.
		w.isolate(1)
		again := a.deleteForever(key, quorum.Majority)
		w.advance(time.Second)
		w.mendAll()
		w.advance(5 * time.Second)
		a.want(again, nil)
	}
}

func TestDeleteForeverSurvivesARestart(t *testing.T) {
	w := cluster(t, 1, durableD)
	a := w.nodes[0]
	a.put("d/s", "x", quorum.Local)
	a.deleteForever("d/s", quorum.Local)
	w.quiet()
	a.crash()
	b := w.start(2, a.disk, 1)
	b.want(b.get("d/s", quorum.Local), crdt.ErrDeleted)
	if len(a.disk.items) != 1 {
		t.Fatalf("%d rows", len(a.disk.items))
	}
}
