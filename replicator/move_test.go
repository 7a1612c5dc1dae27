package replicator

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// increment begins an increment by one.
func (n *node) increment(key string, l quorum.Level) uint64 {
	n.w.seq++
	id := n.w.seq
	n.step(Update{ID: id, Key: key, Write: l, Mutate: func(t *crdt.Tx) error { return aCount.Mutator(t).Increment(1) }})
	return id
}

func (n *node) wantCount(key string, want uint64) {
	n.w.t.Helper()
	c, err := aCount.View(n.m.Snapshot(n.m.SpaceOf(key)).View(key))
	if err != nil || c.Value() != want {
		n.w.t.Fatalf("%s counts %d in %q, want %d (%v)", wire.Short(n.id), c.Value(), key, want, err)
	}
}

// threeWith returns three members of a founded cluster with a set and a counter that are volatile.
func threeWith(t *testing.T, cfg settings.Config) (w *world, a, b, c *node) {
	w = newWorld(t, 1, cfg)
	a, b, c = w.start(1, nil, 1), w.start(2, nil, 2), w.start(3, nil, 3)
	w.install(founded(1, 1, 2, 3))
	w.quiet()
	for _, n := range w.nodes {
		n.put("m/set", "of"+wire.Short(n.id), quorum.Majority)
		n.increment("m/n", quorum.Majority)
		w.quiet()
	}
	return w, a, b, c
}

func movingView(epoch uint64, voters ...crdt.Origin) replica.View {
	v := viewOf(epoch, voters...)
	v.Moving, v.Moves, v.Move = []string{"m/*"}, 1, true
	return v
}

func movedView(epoch uint64, voters ...crdt.Origin) replica.View {
	v := viewOf(epoch, voters...)
	v.Durable, v.Moves = []string{"m/*"}, 1
	return v
}

// TestKeysBecomeDurable: data that was volatile is on every disk when the view says that its keys
// are durable, and outlives a stop of all members from then on.
func TestKeysBecomeDurable(t *testing.T) {
	w, a, b, c := threeWith(t, settings.Config{})
	b.m.Step(w.now, Subscribe{ID: 1000, Key: "m/set"})
	w.install(movingView(2, 1, 2, 3))
	held := c.put("m/set", "late", quorum.Majority)
	local := c.increment("m/n", quorum.Local)
	for len(w.net) > 0 {
		w.deliver(0)
	}
	for _, n := range w.nodes {
		if n.moved != 0 {
			t.Fatalf("%s says that it has moved before anything is on its disk", wire.Short(n.id))
		}
	}
	w.quiet()
	c.wantOpen(held)
	c.wantOpen(local)
	for _, n := range w.nodes {
		if n.moved != 1 {
			t.Fatalf("%s has not moved\n%s", wire.Short(n.id), w.dump())
		}
		n.wantSet("m/set", "of1", "of2", "of3")
		n.wantCount("m/n", 3)
	}
	b.changes = nil
	b.step(Install{movedView(3, 1, 2, 3)})
	if len(b.changes) != 0 {
		t.Fatalf("the value has not changed, and a subscription is told %v", b.changes)
	}
	a.step(Install{movedView(3, 1, 2, 3)})
	c.step(Install{movedView(3, 1, 2, 3)})
	w.quiet()
	c.want(held, nil)
	c.want(local, nil)
	if len(b.changes) != 1 {
		t.Fatalf("a subscription is told %v of one write", b.changes)
	}
	w.advance(5 * time.Second)
	for _, n := range w.nodes {
		n.wantSet("m/set", "late", "of1", "of2", "of3")
		n.wantCount("m/n", 4)
		if items := n.m.spaces[keyspace.Volatile].Store.Len(); items > 0 {
			t.Errorf("%s keeps %d volatile items of durable keys", wire.Short(n.id), items)
		}
	}
	w.same()

	disks := []*rows{a.disk, b.disk, c.disk}
	v := replica.View{Epoch: 4, Founded: true, LastDisks: [][]uint64{{1, 2, 3}}, Durable: []string{"m/*"}, Moves: 1}
	for i, n := range []*node{a, b, c} {
		n.crash()
		w.start(crdt.Origin(11+i), disks[i], uint64(1+i))
		v.Voters = append(v.Voters, replica.Member{
			ID: crdt.Origin(11 + i), UpNumber: uint32(i + 1), Disk: uint64(1 + i),
		})
	}
	w.install(v)
	w.advance(time.Second)
	w.node(12).wantSet("m/set", "late", "of1", "of2", "of3")
	w.node(12).wantCount("m/n", 4)
}

// TestReadsGoOverToTheDurableSpace: a read that waits when its key becomes durable is answered from
// the durable space, and sees what was written there before it began.
func TestReadsGoOverToTheDurableSpace(t *testing.T) {
	for _, level := range []quorum.Level{quorum.Majority, quorum.Linearizable} {
		w, a, b, c := threeWith(t, settings.Config{})
		w.install(movingView(2, 1, 2, 3))
		w.quiet()
		for _, n := range []*node{a, b} {
			n.step(Install{movedView(3, 1, 2, 3)})
		}
		wrote := a.put("m/set", "new", quorum.Majority)
		w.cut[[2]crdt.Origin{1, 3}], w.cut[[2]crdt.Origin{2, 3}] = true, true
		w.quiet()
		a.want(wrote, nil)
		read := c.get("m/set", level)
		w.quiet()
		c.wantOpen(read)
		clear(w.cut)
		w.advance(time.Second)
		c.wantOpen(read) // the others answer under a view that c does not have
		c.step(Install{movedView(3, 1, 2, 3)})
		w.advance(time.Second)
		got := elems(t, c.want(read, nil).Reader)
		if len(got) != 4 {
			t.Fatalf("a read at %v sees %v", level, got)
		}
	}
}

// TestSubscriptionsFollowTheMove: what others wrote under the new view came before this member had
// it; its subscriptions hear of it with the view.
func TestSubscriptionsFollowTheMove(t *testing.T) {
	w, a, b, c := threeWith(t, settings.Config{DurableKeys: []string{"d"}})
	a.put("d", "e", quorum.Majority)
	w.quiet()
	c.step(Subscribe{ID: 1000, Key: "m/set"})
	c.step(Subscribe{ID: 1001, All: true, Prefix: "m/"})
	c.step(Subscribe{ID: 1002, Key: "d"}) // is durable all the time, and told of nothing
	w.install(movingView(2, 1, 2, 3))
	w.quiet()
	for _, n := range []*node{a, b} {
		n.step(Install{movedView(3, 1, 2, 3)})
	}
	wrote := a.put("m/set", "new", quorum.Majority)
	c.changes = nil
	w.quiet()
	a.want(wrote, nil)
	if len(c.changes) > 0 {
		t.Fatalf("%v, and the key is volatile here", c.changes)
	}
	c.step(Install{movedView(3, 1, 2, 3)})
	if len(c.changes) != 2 || len(elems(t, c.changes[0].Reader)) != 4 {
		t.Fatalf("the subscriptions are told %v", c.changes)
	}
	w.advance(5 * time.Second)
	if len(c.changes) != 2 {
		t.Fatalf("the end of the volatile items is told as a change: %v", c.changes)
	}
}

// TestMoveWaitsForAllMembers: a member that cannot be reached may have changed the keys. The move
// goes on when it is back, or is removed.
func TestMoveWaitsForAllMembers(t *testing.T) {
	w, a, b, c := threeWith(t, settings.Config{OperationTimeout: 3 * time.Second})
	w.sever(1, 3)
	w.sever(2, 3)
	own := c.put("m/set", "own", quorum.Local)
	c.want(own, nil)
	w.install(movingView(2, 1, 2, 3))
	held := a.put("m/set", "held", quorum.Majority)
	w.advance(4 * time.Second)
	a.want(held, operation.ErrKeyMoving)
	if a.moved+b.moved+c.moved != 0 {
		t.Fatalf("moved without all members")
	}
	w.mendAll()
	w.advance(5 * time.Second)
	w.install(movedView(3, 1, 2, 3))
	w.advance(5 * time.Second)
	a.wantSet("m/set", "of1", "of2", "of3", "own")

	w, a, b, c = threeWith(t, settings.Config{})
	w.sever(1, 3)
	w.sever(2, 3)
	w.install(movingView(2, 1, 2, 3))
	w.advance(time.Second)
	c.crash()
	w.install(movingView(3, 1, 2))
	w.advance(time.Second)
	if a.moved != 1 || b.moved != 1 {
		t.Fatalf("moved %d and %d", a.moved, b.moved)
	}
}

// TestMoveFindsWhatOneHas: a removal that only one member knows holds everywhere. A member that
// moves what it has, without the others, undoes it: the fault shows that the test sees it.
func TestMoveFindsWhatOneHas(t *testing.T) {
	for _, f := range []defect.Set{{}, defect.Of(defect.MoveUnasked)} {
		w, _, _, c := threeWith(t, planting(settings.Config{}, f))
		w.sever(1, 3)
		w.sever(2, 3)
		c.want(c.take("m/set", "of1", quorum.Local), nil)
		w.install(movingView(2, 1, 2, 3))
		w.quiet()
		w.mendAll()
		w.advance(time.Second)
		w.install(movedView(3, 1, 2, 3))
		w.advance(20 * time.Second)
		found := len(c.set("m/set")) == 3
		if undone := f.Planted(defect.MoveUnasked); found != undone {
			t.Fatalf("with %+v the set is %v", f, c.set("m/set"))
		}
	}
}

// TestARestartExpiresWhatHasMoved: the rules hold at a replica that finds the keys on its disk,
// before it has a view that calls them durable.
func TestARestartExpiresWhatHasMoved(t *testing.T) {
	w, a, b, _ := threeWith(t, settings.Config{Expire: map[string]time.Duration{"m/*": time.Minute}})
	w.install(movingView(2, 1, 2, 3))
	w.quiet()
	w.install(movedView(3, 1, 2, 3))
	w.quiet()
	b.crash()
	late := w.start(4, b.disk, 2)
	w.install(with(movedView(4, 1, 3), 4))
	w.advance(time.Second)
	v := movedView(5)
	v.Voters = []replica.Member{{ID: 4, UpNumber: 4, Disk: 2}}
	a.wantSet("m/set", "of1", "of2", "of3")
	w.install(v) // it alone stays, and is the oldest
	w.advance(70 * time.Second)
	late.wantSet("m/set")
}

// TestAnExpiringKeyMoves: a key that becomes durable expires when its time is up, and not because
// its volatile items go.
func TestAnExpiringKeyMoves(t *testing.T) {
	w, a, _, _ := threeWith(t, settings.Config{Expire: map[string]time.Duration{"m/*": time.Minute}})
	w.install(movingView(2, 1, 2, 3))
	w.quiet()
	w.install(movedView(3, 1, 2, 3))
	w.advance(30 * time.Second)
	a.wantSet("m/set", "of1", "of2", "of3")
	w.advance(40 * time.Second)
	a.wantSet("m/set")
	w.same()
}

// TestWritesBeforeTheRoutesKeepAKey: the oldest is late to learn that a key is durable. What the
// others write to the key meanwhile keeps the key, an add as well as a remove.
func TestWritesBeforeTheRoutesKeepAKey(t *testing.T) {
	for _, write := range []func(n *node) uint64{
		func(n *node) uint64 { return n.put("m/set", "new", quorum.Majority) },
		func(n *node) uint64 { return n.take("m/set", "of1", quorum.Majority) },
	} {
		w, a, b, c := threeWith(t, settings.Config{Expire: map[string]time.Duration{"m/*": time.Minute}})
		w.install(movingView(2, 1, 2, 3))
		w.quiet()
		for _, n := range []*node{b, c} {
			n.step(Install{movedView(3, 1, 2, 3)})
		}
		w.advance(55 * time.Second)
		wrote := write(b)
		w.quiet()
		b.want(wrote, nil)
		w.advance(10 * time.Second)
		a.step(Install{movedView(3, 1, 2, 3)})
		w.advance(45 * time.Second)
		if found := c.set("m/set"); len(found) < 2 {
			t.Fatalf("55 s after a write the set is %v", found)
		}
		w.advance(10 * time.Second)
		a.wantSet("m/set")
		w.same()
	}
}

// TestAMoveIsNoWrite: the copies that a move makes do not keep a key.
func TestAMoveIsNoWrite(t *testing.T) {
	w, a, _, _ := threeWith(t, settings.Config{Expire: map[string]time.Duration{"m/*": time.Minute}})
	w.advance(40 * time.Second)
	w.install(movingView(2, 1, 2, 3))
	w.advance(time.Second)
	w.install(movedView(3, 1, 2, 3))
	w.advance(15 * time.Second)
	a.wantSet("m/set", "of1", "of2", "of3")
	w.advance(10 * time.Second)
	a.wantSet("m/set")
	w.same()
}

// TestADeletedKeyMoves: a key that DeleteForever has ended stays ended, and leaves nothing behind.
func TestADeletedKeyMoves(t *testing.T) {
	w, a, b, _ := threeWith(t, settings.Config{})
	w.seq++
	a.step(DeleteForever{ID: w.seq, Key: "m/set", Write: quorum.Majority})
	w.quiet()
	a.want(w.seq, nil)
	w.install(movingView(2, 1, 2, 3))
	w.advance(time.Second)
	w.install(movedView(3, 1, 2, 3))
	w.advance(30 * time.Second)
	if n := a.m.spaces[keyspace.Volatile].Store.Len(); n > 0 {
		t.Errorf("%d volatile items stay", n)
	}
	b.want(b.get("m/set", quorum.Local), crdt.ErrDeleted)
	w.same()
}

// TestMovedItemsInTheVolatileSpaceAreRefused: no correct peer has such a clock. Had it been taken,
// the next move would find items that cannot be moved.
func TestMovedItemsInTheVolatileSpaceAreRefused(t *testing.T) {
	w, a, _, _ := threeWith(t, settings.Config{})
	hostile := a.m.spaces[keyspace.Volatile].Content().Clone()
	hostile.Add(crdt.Dot{Origin: 2, Seq: 1}.Moved(1))
	before := a.m.Stats().Malformed
	a.step(&Receive{From: 2, Msg: &wire.Clock{Epoch: 1, Space: keyspace.Volatile, Content: hostile}})
	a.step(&Receive{From: 2, Msg: &wire.Head{Epoch: 1, Space: keyspace.Volatile, Clock: hostile}})
	if got := a.m.Stats().Malformed - before; got != 2 {
		t.Errorf("%d of 2 messages are malformed", got)
	}
	w.quiet()
}

// TestALearnerCountsBesideAnEmptyDisk: a disk that has noted an empty clock has nothing that a learner's disk, without
// any clock, could lack.
func TestALearnerCountsBesideAnEmptyDisk(t *testing.T) {
	w := newWorld(t, 1, settings.Config{})
	a := w.start(1, nil, 1)
	w.install(founded(1, 1))
	w.install(movingView(2, 1))
	w.quiet()
	if a.disk.clock == nil || !a.disk.clock.Empty() {
		t.Fatalf("the disk has noted %v", a.disk.clock)
	}
	j := w.start(2, nil, 2)
	w.install(with(movingView(3, 1), 2))
	w.quiet()
	if !j.joined {
		t.Errorf("it has not caught up\n%v", j.m)
	}
}
