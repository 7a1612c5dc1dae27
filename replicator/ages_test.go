package replicator

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A cluster of ten years in compressed form: three machines with disks, of which one is started anew
// on its disk from time to time, here called a day. With it come the events of the other incarnations
// since the last start, which have ended, as a log would bring them. Each has put an item that stays
// for a while, in both spaces, and has counted in a durable counter.
const (
	ageDays = 400
	agePer  = 500 // incarnations from one start to the next: 200,000 in all
	ageStay = 4   // starts after which an item is removed
)

// ages is such a cluster.
type ages struct {
	*world
	epoch    uint64
	members  []*node
	ended    replica.Retirement
	agreedIn uint64
	next     crdt.Origin
	days     int
	closed   int
	counted  uint64 // by all incarnations that were brought
	items    int    // the most that the counter had at the end of a day, since they were first folded

	sent    int // bytes of all messages of the day
	longest int // bytes of the longest message of the day
}

func newAges(t testing.TB, f defect.Set) *ages {
	cfg := settings.Config{
		GossipInterval: time.Second, RetryInterval: 50 * time.Millisecond, DurableKeys: []string{"d/*"}, LogMax: 500,
	}
	cfg.Plant(f)
	a := &ages{world: newWorld(t, 1, cfg)}
	a.unchecked = true // with so many items the invariants take longer than the days
	a.drop = func(p packet) bool {
		n := len(wire.Append(nil, p.msg))
		a.sent, a.longest = a.sent+n, max(a.longest, n)
		return false
	}
	for i := range 3 {
		a.next++
		a.members = append(a.members, a.start(a.next, nil, uint64(i+1)))
	}
	v := a.view()
	v.Founded = true
	a.install(v)
	a.advance(3 * time.Second)
	return a
}

// view is the next view.
func (a *ages) view() replica.View {
	a.epoch++
	v := replica.View{Epoch: a.epoch, Ended: a.ended, AgreedIn: a.agreedIn}
	for _, n := range a.members {
		v.Voters = append(v.Voters, replica.Member{ID: n.id, UpNumber: uint32(n.id), Disk: n.diskID})
	}
	return v
}

// day starts the oldest anew, brings the incarnations of the day, and lets those of before retire.
func (a *ages) day(retire bool) {
	a.days++
	a.sent, a.longest = 0, 0
	old := a.members[0]
	old.crash()
	a.nodes = slices.DeleteFunc(a.nodes, func(n *node) bool { return n == old })
	a.next += agePer
	n := a.start(a.next, old.disk, old.diskID)
	v := a.view()
	v.Voters = slices.DeleteFunc(v.Voters, func(m replica.Member) bool { return m.ID == old.id })
	v.Learners = []replica.Member{{ID: n.id, UpNumber: uint32(n.id), Disk: n.diskID}}
	a.install(v)
	for range 50 {
		if a.advance(time.Second); n.m.CaughtUp() {
			break
		}
	}
	if !n.m.CaughtUp() {
		a.t.Fatalf("day %d: %s has not caught up\n%s", a.days, wire.Short(n.id), a.dump())
	}
	a.members = append(a.members[1:], n)
	a.install(a.view())
	a.bring(n)
	a.advance(2 * time.Second)
	if retire {
		a.retire()
	}
}

// bring lets a member bring the events of the incarnations that came and went since the last day, and
// that each has removed what one of ageStay days before had put.
func (a *ages) bring(n *node) {
	to := a.members[0]
	for s := range keyspace.Count {
		var gs []crdt.Group
		for i := n.id - agePer + 1; i < n.id; i++ {
			e := crdt.Event{Dot: crdt.Dot{Origin: i, Seq: 1}, Key: setKeys[s], Path: fmt.Sprint("\x06", i), Puts: true}
			if i > ageStay*agePer+3 && i%agePer != 3 {
				e.Removes = []crdt.Dot{{Origin: i - ageStay*agePer, Seq: 1}}
			}
			if gs = append(gs, crdt.Group{e}); s == keyspace.Durable {
				gs = append(gs, crdt.Group{countedBy(i)})
				a.counted += countOf(i)
			}
		}
		to.step(&Receive{From: n.id, Msg: &wire.Push{Epoch: a.epoch, Space: s, Fill: true, Groups: gs}})
	}
}

// countOf is what an incarnation has counted.
func countOf(o crdt.Origin) uint64 { return uint64(1 + o%200) }

// countedBy is the event by which it has.
func countedBy(o crdt.Origin) crdt.Event {
	path := string(binary.BigEndian.AppendUint64([]byte(crdt.KindGCounter.Path()), uint64(o)))
	return crdt.Event{
		Dot: crdt.Dot{Origin: o, Seq: 2}, Key: countKey, Path: path, Puts: true,
		Payload: string([]byte{byte(countOf(o))}),
	}
}

// retire lets two views decide that all incarnations that are no members are over.
func (a *ages) retire() {
	v := a.view()
	v.Ending.Below = a.next + 1
	for _, m := range a.members {
		v.Ending.Spared = append(v.Ending.Spared, m.id)
	}
	slices.Sort(v.Ending.Spared)
	a.install(v)
	a.advance(5 * time.Second)
	for _, m := range a.members {
		if m.retirable != a.epoch {
			return // it waits
		}
	}
	a.ended, a.agreedIn = v.Ending, a.epoch
	a.closed++
	a.install(a.view())
	a.advance(2 * time.Second)
}

// clockBytes is the size of the largest clock.
func (a *ages) clockBytes() (most int) {
	for _, n := range a.members {
		for _, s := range n.m.spaces {
			most = max(most, s.Content().Size())
		}
	}
	return most
}

// agree compares the members.
func (a *ages) agree() {
	a.same()
	for _, n := range a.members {
		r := n.m.Snapshot(keyspace.Durable).View(countKey)
		if c, err := crdt.ViewOf[crdt.GCounter](r); err != nil || c.Value() != a.counted {
			a.t.Fatalf("day %d: %s counts %d, want %d: %v", a.days, wire.Short(n.id), c.Value(), a.counted, err)
		}
		for s, key := range setKeys {
			if got, want := n.m.Snapshot(keyspace.Space(s)).View(key).Len(), ageStay*(agePer-1); got > want+agePer ||
				a.days > ageStay && got < want-agePer {
				a.t.Fatalf("day %d: %s has %d items in %s, about %d are there",
					a.days, wire.Short(n.id), got, key, want)
			}
		}
	}
}

// countItems is how many items the counter has where it has most.
func (a *ages) countItems() (most int) {
	for _, n := range a.members {
		most = max(most, n.m.Snapshot(keyspace.Durable).View(countKey).Len())
	}
	return most
}

// R16, R6: after 200,000 incarnations the clocks, the items of a counter, and what a day costs on the wire,
// are what they were in the second month. The members hold the same. A copy of a directory of long ago is
// refused.
func TestTenYears(t *testing.T) {
	a := newAges(t, defect.Set{})
	var early, longest int
	var copied *rows
	for range ageDays {
		a.day(a.days%2 == 1)
		switch {
		case a.days == 3*ageStay:
			early, longest, copied = a.sent, a.longest, a.members[1].disk.copied()
		case a.days > 3*ageStay && (a.clockBytes() > 3*agePer*12 || a.sent > 3*early || a.longest > 3*longest):
			t.Fatalf("day %d: a clock of %d bytes, %d bytes sent in messages of up to %d; on day %d %d and %d",
				a.days, a.clockBytes(), a.sent, a.longest, 3*ageStay, early, longest)
		}
		if a.days > 2 {
			a.items = max(a.items, a.countItems())
		}
		if a.days%50 == 0 {
			a.agree()
		}
	}
	a.agree()
	if a.items > 3*agePer {
		t.Errorf("%d items of a counter", a.items)
	}
	late := a.start(a.next+1, copied, 9)
	v := a.view()
	v.Learners = []replica.Member{{ID: late.id, Disk: 9}}
	a.install(v)
	if !late.outdated {
		t.Error("a copy of a directory of ten years ago is used")
	}
	t.Logf("%d incarnations, %d retirements: a clock of %d bytes; %d bytes sent in a day, in messages of up to %d; "+
		"on day %d %d and %d; %d counted in %d items, at most %d",
		a.next, a.closed, a.clockBytes(), a.sent, a.longest, 3*ageStay, early, longest,
		a.counted, a.countItems(), a.items)
}

// Without retirement the same cluster pays for every incarnation that it ever had.
func TestYearsWithoutRetirement(t *testing.T) {
	a := newAges(t, defect.Set{})
	for range 20 {
		a.day(false)
	}
	a.agree()
	if n := a.clockBytes(); n < 20*agePer*4 || a.countItems() < 20*(agePer-1) {
		t.Errorf("a clock of %d bytes, and %d items of a counter", n, a.countItems())
	}
	t.Logf("%d incarnations: a clock of %d bytes; %d bytes sent in a day, in messages of up to %d",
		a.next, a.clockBytes(), a.sent, a.longest)
}
