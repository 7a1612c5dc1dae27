package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
)

// aged is a disk that many incarnations have written to, of which one in a thousand has left an
// item.
func aged(t *testing.T, incarnations int) *rows {
	t.Helper()
	disk := newRows()
	disk.clock = &crdt.Clock{}
	for i := range incarnations {
		o := crdt.Origin(uint64(i+1) << 40)
		disk.clock.AddRange(o, 1, 1000+uint64(i))
		if i%1000 > 0 {
			continue
		}
		r := crdt.NewReplica(o, crdt.StoreOptions{})
		var ch crdt.Changes
		if _, err := r.Update("d/set", 1, func(t *crdt.Tx) error {
			return addOne.Mutator(t).Add(fmt.Sprint("e", i))
		}, &ch); err != nil {
			t.Fatal(err)
		}
		for _, it := range ch.Put {
			disk.items[it.Dot] = *it
			disk.digest = disk.digest.Plus(crdt.HashItem(0, it))
		}
	}
	return disk
}

// manyOrigins is how many incarnations have written to the disks of these tests.
func manyOrigins() int {
	if testing.Short() {
		return 20_000
	}
	return 200_000
}

// done lets time pass until an operation is answered, without an error.
func (n *node) done(id uint64) {
	n.w.t.Helper()
	n.w.hops(time.Millisecond, 10*time.Second, func() bool { _, ok := n.results[id]; return ok })
	n.want(id, nil)
}

// Clocks of any size: disks that many incarnations have written to start together, one of them far
// behind; they settle, repair, write and read at every level, a newcomer joins empty, and no
// message is larger than a transport takes (world.carried).
func TestClocksOfAnySize(t *testing.T) {
	n := manyOrigins()
	w := newWorld(t, 1, durableD)
	w.unchecked = true // each check walks over all clocks
	w.start(1, aged(t, n), 1)
	w.start(2, aged(t, n), 2)
	behind := w.start(3, aged(t, n/2), 3)
	v := founded(2, 1, 2, 3)
	v.LastDisks = [][]uint64{{1, 2, 3}}
	w.install(v)
	w.advance(5 * time.Second)
	w.same()
	if got := behind.m.Snapshot(keyspace.Durable).Len(); got != n/1000 || behind.m.Settled() != 2 {
		t.Fatalf("%d items of %d, settled %d", got, n/1000, behind.m.Settled())
	}
	for i, level := range []quorum.Level{quorum.Majority, quorum.All, quorum.Linearizable} {
		key := fmt.Sprint("d/", i)
		if level != quorum.Linearizable {
			behind.done(behind.put(key, "x", level))
		}
		behind.done(behind.get(key, level))
		w.nodes[0].done(w.nodes[0].get(key, level))
	}
	young := w.start(4, nil, 4)
	w.install(with(viewOf(3, 1, 2, 3), 4))
	w.advance(5 * time.Second)
	if !young.joined {
		t.Fatalf("the newcomer has not caught up\n%v", young.m)
	}
	w.install(viewOf(4, 1, 2, 3, 4))
	w.advance(2 * time.Second)
	young.done(young.put("d/0", "y", quorum.All))
	young.done(young.get("d/0", quorum.Linearizable))
	w.advance(2 * time.Second)
	w.same()
	for _, n := range w.nodes {
		n.check()
		if st := n.m.site.Counters; st.Malformed+st.FlowsDropped+st.RepairsBroken+st.DonorsReplaced > 0 {
			t.Errorf("%s: %+v", wire.Short(n.id), st)
		}
	}
}

// Large clocks find a place beside large groups, however many of those wait.
func TestLargeClocksFindAPlaceBesideGroups(t *testing.T) {
	cfg := slowLine
	cfg.GroupMax = 64 << 10
	w := cluster(t, 2, cfg)
	a := w.nodes[0]
	for i := range 2 * push.FlowsMax {
		a.big(fmt.Sprint("big", i), 50)
	}
	p := a.m.site.Peers[0]
	if p.Flows.Len() != push.FlowsMax {
		t.Fatalf("%d groups wait", p.Flows.Len())
	}
	clock := &crdt.Clock{}
	for i := range crdt.Origin(200) {
		clock.AddRange(i+1, 1, 1000)
	}
	dropped := a.m.site.Counters.FlowsDropped
	a.m.site.Send(p, effect.Bulk, &wire.Head{Epoch: 1, Session: 7, Clock: clock})
	if a.m.site.Counters.FlowsDropped != dropped || !p.Flows.Carries(7) {
		t.Fatalf("the clock found no place: %d dropped", a.m.site.Counters.FlowsDropped-dropped)
	}
}
