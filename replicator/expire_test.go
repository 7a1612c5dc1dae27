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

var fleeting = settings.Config{DurableKeys: []string{"d/*"},
	Expire: map[string]time.Duration{"x/*": time.Minute, "d/x/*": time.Minute, "x/long/*": time.Hour,
		"x/long/not": time.Minute}}

// The oldest removes a key after its time without writes. Subscribers hear that the key is deleted,
// its rows go, and the key can be used again.
func TestKeysExpireAfterInactivity(t *testing.T) {
	w := cluster(t, 3, fleeting)
	a, b := w.nodes[0], w.nodes[1]
	keys := []string{"x/1", "d/x/1", "x/long/1", "x/long/not", "y"}
	for _, k := range keys {
		b.put(k, "e", quorum.All)
	}
	w.quiet()
	b.step(Subscribe{ID: 1, Prefix: "", All: true})
	b.changes = nil
	w.advance(59 * time.Second)
	for _, k := range keys {
		a.wantSet(k, "e")
	}
	b.put("x/long/not", "f", quorum.Local) // keeps it
	w.advance(20 * time.Second)
	a.wantSet("x/1")
	a.wantSet("d/x/1")
	a.wantSet("x/long/1", "e")
	a.wantSet("x/long/not", "e", "f")
	w.advance(2 * time.Hour)
	a.wantSet("x/long/1")
	a.wantSet("x/long/not")
	a.wantSet("y", "e")
	w.same()
	if a.m.site.Counters.Expired != 4 || b.m.site.Counters.Expired != 0 || len(a.disk.items)+len(b.disk.items) != 0 {
		t.Fatalf("%d and %d expired, %d rows", a.m.site.Counters.Expired, b.m.site.Counters.Expired, len(a.disk.items))
	}
	var deleted []string
	for _, c := range b.changes {
		if c.Deleted {
			deleted = append(deleted, c.Key)
		}
	}
	if fmt.Sprint(deleted) != "[d/x/1 x/1 x/long/not x/long/1]" &&
		fmt.Sprint(deleted) != "[x/1 d/x/1 x/long/not x/long/1]" {
		t.Fatalf("deleted %q", deleted)
	}
	for _, n := range w.nodes {
		if k := &n.m.tidying.expiry.keys; k.Len() != 0 || k.Check() != nil {
			t.Fatalf("%s remembers %d keys, %v", wire.Short(n.id), k.Len(), k.Check())
		}
	}
}

// What was counted before a key expired does not suppress what is written afterwards.
func TestWritesAfterExpiryReachTheOthers(t *testing.T) {
	w := cluster(t, 3, fleeting)
	b, c := w.nodes[1], w.nodes[2]
	count := func(n *node, by uint64, l quorum.Level) uint64 {
		w.seq++
		n.step(Update{ID: w.seq, Key: "x/c", Write: l, Mutate: func(tx *crdt.Tx) error {
			return crdt.GCounter{}.Mutator(tx).Increment(by)
		}})
		return w.seq
	}
	for range 57 {
		count(b, 1, quorum.Local)
	}
	w.quiet()
	w.advance(2 * time.Minute)
	if !c.m.Snapshot(keyspace.Volatile).View("x/c").Empty() {
		t.Fatal("it has not expired")
	}
	id := count(b, 1, quorum.All)
	w.quiet()
	b.want(id, nil)
	for _, n := range w.nodes {
		if v, err := crdt.ViewOf[crdt.GCounter](n.m.Snapshot(keyspace.Volatile).View("x/c")); err != nil ||
			v.Value() != 1 {
			t.Fatalf("%s counts %d: %v", wire.Short(n.id), v.Value(), err)
		}
	}
}

// What is written while the key expires survives.
func TestConcurrentWriteSurvivesExpiry(t *testing.T) {
	w := cluster(t, 3, fleeting)
	a, c := w.nodes[0], w.nodes[2]
	c.put("x/1", "old", quorum.All)
	w.quiet()
	w.advance(55 * time.Second)
	w.isolate(3)
	c.put("x/1", "new", quorum.Local)
	w.advance(10 * time.Second)
	a.wantSet("x/1")
	w.mendAll()
	w.advance(5 * time.Second)
	w.same()
	a.wantSet("x/1", "new")
}

// An oldest voter that is cut off removes nothing, because the others may have written.
func TestTheOldestWhoIsCutOffLetsNothingExpire(t *testing.T) {
	for _, f := range []defect.Set{{}, defect.Of(defect.ExpireUnasked)} {
		cfg := fleeting
		cfg.Plant(f)
		w := cluster(t, 3, cfg)
		a, b := w.nodes[0], w.nodes[1]
		b.put("x/1", "old", quorum.All)
		w.quiet()
		w.advance(50 * time.Second)
		w.isolate(1)
		id := b.put("x/1", "new", quorum.Majority)
		w.advance(30 * time.Second)
		b.want(id, nil)
		if got := a.set("x/1"); (len(got) == 1) == f.Planted(defect.ExpireUnasked) {
			t.Fatalf("with %+v: %q", f, got)
		}
		w.mendAll()
		w.advance(20 * time.Second)
		if got := a.set("x/1"); (len(got) == 2) == f.Planted(defect.ExpireUnasked) {
			t.Fatalf("with %+v: %q", f, got)
		}
		w.advance(2 * time.Minute)
		a.wantSet("x/1")
		w.same()
	}
}

// A write that a majority has acknowledged and that the oldest has not heard of keeps the key
// alive.
func TestTheOldestAsksBeforeAKeyExpires(t *testing.T) {
	if !keptByAMajority(t, defect.Set{}) {
		t.Error("it has expired")
	}
	if keptByAMajority(t, defect.Of(defect.ExpireUnasked)) {
		t.Error("the planted defect went unnoticed")
	}
}

func keptByAMajority(t *testing.T, f defect.Set) bool {
	cfg := fleeting
	cfg.Plant(f)
	w := cluster(t, 3, cfg)
	a, b := w.nodes[0], w.nodes[1]
	b.put("x/1", "old", quorum.All)
	w.quiet()
	w.advance(55 * time.Second)
	w.sever(1, 2)
	w.sever(1, 3)
	id := b.put("x/1", "new", quorum.Majority)
	w.quiet()
	b.want(id, nil)
	w.now = w.now.Add(4900 * time.Millisecond)
	w.mendAll()
	w.drop = func(p packet) bool { // nothing but what it asks for reaches the oldest
		push, ok := p.msg.(*wire.Push)
		_, status := p.msg.(*wire.Holdings)
		_, clock := p.msg.(*wire.Clock)
		return p.to == 1 && (ok && !push.Fill || status || clock)
	}
	w.advance(3 * time.Second)
	kept := slices.Equal(a.set("x/1"), []string{"new", "old"})
	w.drop = func(packet) bool { return false }
	w.advance(2 * time.Minute)
	a.wantSet("x/1")
	w.same()
	return kept
}

// The next oldest has been watching too, and a restart begins anew.
func TestInactivityOutlivesTheOldest(t *testing.T) {
	w := cluster(t, 3, fleeting)
	a, b := w.nodes[0], w.nodes[1]
	a.put("x/1", "e", quorum.All)
	a.put("d/x/1", "e", quorum.All)
	w.quiet()
	w.advance(50 * time.Second)
	a.crash()
	w.install(viewOf(2, 2, 3))
	w.advance(15 * time.Second)
	b.wantSet("x/1")
	b.wantSet("d/x/1")
	b.put("d/x/1", "e", quorum.All)
	w.advance(50 * time.Second)
	disk := b.disk
	b.crash()
	w.nodes[2].crash()
	n := w.start(9, disk, 2)
	v := founded(5, 9)
	v.Voters[0].Disk, v.LastDisks = 2, [][]uint64{{2}}
	n.step(Install{v})
	w.advance(50 * time.Second)
	n.wantSet("d/x/1", "e")
	w.advance(20 * time.Second)
	n.wantSet("d/x/1")
}

// A key that was deleted permanently stays deleted, also where keys expire. The replica keeps no
// time for it.
func TestDeletedForeverDoesNotExpire(t *testing.T) {
	w := cluster(t, 2, fleeting)
	a := w.nodes[0]
	a.put("x/1", "e", quorum.All)
	a.deleteForever("x/1", quorum.All)
	w.quiet()
	w.advance(2 * time.Minute)
	a.want(a.put("x/1", "e", quorum.Local), crdt.ErrDeleted)
	if a.m.tidying.expiry.keys.Len() != 0 {
		t.Fatal("remembered")
	}
}

// Many keys expire in turns, each as soon as it is due.
func TestManyKeysExpireInTurns(t *testing.T) {
	w := cluster(t, 2, fleeting)
	a := w.nodes[0]
	for i := range 3 * tidyKeys {
		a.put(fmt.Sprint("x/", i), "e", quorum.Local)
	}
	w.quiet()
	w.advance(time.Minute + 5*time.Second)
	if n := len(slices.Collect(a.m.Snapshot(keyspace.Volatile).Keys(""))); n != 0 ||
		a.m.site.Counters.Expired != 3*tidyKeys {
		t.Fatalf("%d are left, %d expired", n, a.m.site.Counters.Expired)
	}
}

// What a majority told before the oldest stood still says nothing of what it has acknowledged
// since.
func TestAnswersFromLongAgoLetNothingExpire(t *testing.T) {
	w := cluster(t, 3, fleeting)
	a, b := w.nodes[0], w.nodes[1]
	b.put("x/1", "old", quorum.All)
	w.quiet()
	held := holdAnswers(w)
	w.sever(1, 2)
	w.sever(1, 3)
	id := b.put("x/1", "new", quorum.Majority)
	w.quiet()
	b.want(id, nil)
	w.now = w.now.Add(40 * time.Second)
	for _, p := range *held {
		a.step(&Receive{p.from, p.msg})
	}
	a.step(Tick{})
	a.wantSet("x/1", "old")
	w.drop = func(packet) bool { return false }
	w.mendAll()
	w.advance(5 * time.Second)
	w.same()
	a.wantSet("x/1", "new", "old")
	w.advance(2 * time.Minute)
	a.wantSet("x/1")
}

// holdAnswers holds back the answers to the oldest. It returns when the oldest has asked what a
// majority has of the keys that are due.
func holdAnswers(w *world) *[]packet {
	var held []packet
	w.drop = func(p packet) bool {
		_, is := p.msg.(*wire.Answer)
		if is && p.to == 1 {
			held = append(held, p)
		}
		return is && p.to == 1
	}
	for range 100 {
		if w.advance(time.Second); len(held) > 0 {
			return &held
		}
	}
	w.t.Fatal("the node does not ask")
	return nil
}

// An oldest voter that hears of a newer view while it asks begins again when it has that view.
func TestExpiryGoesOnUnderTheNextView(t *testing.T) {
	w := cluster(t, 3, fleeting)
	a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
	b.put("x/1", "e", quorum.All)
	w.quiet()
	held := holdAnswers(w)
	next := viewOf(2, 1, 2, 3)
	b.step(Install{next})
	w.quiet()
	a.step(&Receive{2, &wire.Ack{Epoch: 2}})
	for _, p := range *held {
		if p.from == c.id {
			a.step(&Receive{p.from, p.msg})
		}
	}
	a.step(Tick{})
	if a.m.site.HeardOf != 2 || a.m.tidying.expiry.asked[keyspace.Volatile].keys != nil {
		t.Fatalf("it has heard of view %d, and has plans for %q",
			a.m.site.HeardOf, a.m.tidying.expiry.asked[keyspace.Volatile].keys)
	}
	a.wantSet("x/1", "e")
	w.drop = func(packet) bool { return false }
	a.step(Install{next})
	c.step(Install{next})
	w.advance(time.Minute)
	a.wantSet("x/1")
	w.same()
}

// Rules that differ do no harm: those of the oldest voter count, and the next oldest begins with
// its own.
func TestTheRulesOfTheOldestCount(t *testing.T) {
	w := newWorld(t, 1, settings.Config{Expire: map[string]time.Duration{"x": time.Hour}})
	a := w.start(1, nil, 1)
	w.cfg.Expire = map[string]time.Duration{"x": time.Minute, "y": time.Minute}
	b, c := w.start(2, nil, 2), w.start(3, nil, 3)
	w.install(founded(1, 1, 2, 3))
	w.quiet()
	b.put("x", "e", quorum.All)
	b.put("y", "e", quorum.All)
	w.advance(10 * time.Minute)
	for _, n := range w.nodes {
		n.wantSet("x", "e")
		n.wantSet("y", "e")
	}
	a.crash()
	w.install(viewOf(2, 2, 3))
	w.advance(time.Minute)
	for _, n := range []*node{b, c} {
		n.wantSet("x")
		n.wantSet("y")
	}
	w.same()
}
