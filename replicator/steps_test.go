package replicator

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// madeGroups returns two machines, of which the first has made groups of so many events that the
// second has not got yet.
func madeGroups(b testing.TB, key string, groups, events int) *lab {
	l := newLab(b, 1)
	l.durable, l.ms = []string{"d/*"}, map[crdt.Origin]*Machine{}
	for id := range crdt.Origin(2) {
		l.add(b, id+1)
	}
	for id := range crdt.Origin(2) {
		l.step(id+1, Install{founded(1, 1, 2)})
	}
	l.agree(b)
	for i := range groups {
		l.step(1, Update{ID: uint64(i + 1), Key: key, Mutate: func(t *crdt.Tx) error {
			return each(events, func(j int) error { return addOne.Mutator(t).Add(fmt.Sprintf("%05d-%05d", i, j)) })
		}})
	}
	clear(l.longest)
	return l
}

// What a step costs that applies what others have written does not grow with the size of a group, nor with the number
// of groups in a message. Bytes that are allocated stand for it. What has come in parts is decoded between the steps.
func TestStepsOfAGroupAreBounded(t *testing.T) {
	bytes := func(key string, groups, events int) int64 {
		l := madeGroups(t, key, groups, events)
		l.gauge = func() int64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.TotalAlloc)
		}
		l.agree(t)
		if n := l.ms[2].Snapshot(l.ms[2].SpaceOf(key)).Len(); n != groups*events {
			t.Fatalf("%d items of %d", n, groups*events)
		}
		return l.longest[2].cost
	}
	for _, key := range []string{"v", "d/s"} {
		if few, many := bytes(key, 1, 12_000), bytes(key, 1, 60_000); many > 2*few {
			t.Errorf("%s: a step allocates %d bytes for a group of 12,000 events, %d for one of 60,000", key, few, many)
		}
		if few, many := bytes(key, 600, 1), bytes(key, 2_400, 1); many > 2*few {
			t.Errorf("%s: a step allocates %d bytes for 600 groups, %d for 2,400", key, few, many)
		}
	}
}

// BenchmarkGroup says how long the longest step lasts of a replica to which others' events come.
func BenchmarkGroup(b *testing.B) {
	for _, key := range []string{"v", "d/s"} {
		for _, size := range [][2]int{{1, crdt.EventsMax}, {2_400, 1}} {
			b.Run(fmt.Sprintf("%s/%dx%d", key[:1], size[0], size[1]), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					l := madeGroups(b, key, size[0], size[1])
					runtime.LockOSThread()
					b.StartTimer()
					l.agree(b)
					runtime.UnlockOSThread()
					b.ReportMetric(float64(l.longest[2].cost)/1e6, "step-ms")
					b.Logf("%v for %s", time.Duration(l.longest[2].cost), l.longest[2].what)
				}
			})
		}
	}
}

// stepwise is a configuration in which one step applies two events, and a group of three is large.
var stepwise = settings.Config{DurableKeys: []string{"d/*"}, StepItems: 1, GossipInterval: time.Hour}

// deliverAll delivers what is on its way, and lets no timer run.
func (w *world) deliverAll() {
	for len(w.net) > 0 {
		w.deliver(0)
	}
}

// tick steps a node once, for what is due now, and reports whether there was anything.
func (n *node) tick() bool {
	if at := n.m.Deadline(); at.IsZero() || at.After(n.w.now) {
		return false
	}
	n.step(Tick{})
	return true
}

// What is small is applied and acknowledged while a large group is. Nothing of the large one shows before all of it
// does; what builds on it waits for it.
func TestSmallIsAppliedBesideLarge(t *testing.T) {
	for _, space := range []string{"", "d/"} {
		w := cluster(t, 3, stepwise)
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		a.big(space+"big", 100)
		a.take(space+"big", fmt.Sprintf("%sbig-%037d", space, 7), quorum.Local)
		w.deliverAll()
		small := c.put(space+"other", "c", quorum.All)
		shown := func() int { return b.m.Snapshot(b.m.SpaceOf(space)).View(space + "big").Len() }
		done := func() bool { r, ok := c.results[small]; return ok && r.Err == nil }
		steps := 0
		for ; b.tick() && shown() == 0; steps++ {
			w.deliverAll()
			for a.tick() || c.tick() {
				w.deliverAll()
			}
			for _, n := range w.nodes {
				n.persist()
			}
			if n := shown(); n != 0 && n < 99 {
				t.Fatalf("%d items of a group show", n)
			}
		}
		if steps < 40 || !done() {
			t.Errorf("%q: the small write is done: %v, the large one shows after %d steps", space, done(), steps)
		}
		w.advance(time.Minute)
		if w.same(); shown() != 99 {
			t.Errorf("%d items", shown())
		}
	}
}

// A large group whose origin is removed while it is applied leaves nothing behind, as no other was told of it.
func TestLargeGroupOfARemovedMember(t *testing.T) {
	w := cluster(t, 4, stepwise)
	d := w.nodes[3]
	w.sever(4, 1)
	w.sever(4, 2)
	d.big("big", 100)
	w.deliverAll()
	for range 10 {
		w.nodes[2].tick()
	}
	s := w.nodes[2].m.spaces[keyspace.Volatile]
	if !s.Items.Merges() {
		t.Fatal("nothing is under way")
	}
	d.down = true
	w.install(viewOf(2, 1, 2, 3))
	if s.Items.Merges() {
		t.Error("it is still under way")
	}
	w.advance(time.Minute)
	if w.same(); s.Store.Len() != 0 {
		t.Errorf("%d items", s.Store.Len())
	}
}

// A repair that is taken while a large group is applied goes first, and what it brings of the group is not applied
// again.
func TestRepairGoesBeforeALargeGroup(t *testing.T) {
	for _, brings := range []bool{false, true} {
		w := cluster(t, 3, stepwise)
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		s := b.m.spaces[keyspace.Volatile]
		c.put("before", "c", quorum.Local)
		w.advance(time.Second)
		if brings {
			a.big("big", 100)
			for len(w.net) > 0 {
				w.deliver(0)
				for c.tick() {
				}
			}
		} else {
			w.sever(1, 3)
			a.big("big", 100)
			w.deliverAll()
		}
		b.tick()
		if !s.Items.Merges() {
			t.Fatal("nothing is under way")
		}
		b.step(&Receive{3, &wire.LogTruncated{Epoch: b.m.site.View.Epoch}})
		for range 300 {
			w.deliverAll()
			for c.tick() {
			}
			if s.repairs.taking != nil && s.intake.Check() != nil {
				t.Fatal(s.intake.Check())
			}
			b.tick()
		}
		w.mend(1, 3)
		w.advance(time.Minute)
		if w.same(); b.m.site.Counters.Repairs != 1 || s.Store.Len() != 101 {
			t.Errorf("%d repairs, %d items", b.m.site.Counters.Repairs, s.Store.Len())
		}
	}
}

// Pushes that come faster than they are applied wait, up to a bound. Beyond it they are dropped and counted, and have
// no ack, so that their sender repeats them.
func TestPushesThatWaitAreBounded(t *testing.T) {
	w := cluster(t, 2, stepwise)
	b := w.nodes[1]
	origin := crdt.NewReplica(1, crdt.StoreOptions{})
	const pushes, groups = 1150, 20
	for i := range pushes {
		msg := &wire.Push{Epoch: b.m.site.View.Epoch}
		for j := range groups {
			g, err := origin.Update("k", 0, func(t *crdt.Tx) error {
				return each(2, func(k int) error { return addOne.Mutator(t).Add(fmt.Sprint(i, j, k)) })
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			msg.Groups = append(msg.Groups, g)
		}
		b.m.Step(w.now, &Receive{1, msg}) // applies a few of them
	}
	dropped := b.m.site.Counters.WaitingDropped
	for !b.m.Deadline().After(w.now) {
		b.m.Step(w.now, Tick{})
	}
	s := b.m.spaces[keyspace.Volatile]
	if n := s.Store.Len(); dropped == 0 || n != 2*(groups*pushes-int(dropped)) {
		t.Errorf("%d groups of %d dropped, %d items", dropped, groups*pushes, n)
	}
}
