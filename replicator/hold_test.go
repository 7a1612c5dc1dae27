package replicator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
)

// behind is how many of the own bytes of n a peer has not got.
func (n *node) behind(s keyspace.Space, id crdt.Origin) int {
	sp := n.m.spaces[s]
	bytes, _ := sp.pusher.Outbox().Behind(n.m.site.Peer(id).Link(sp.ID).Window.Applied())
	return bytes
}

// slowWriting has node 1 of three write 400 elements at Local, one after the other, while the slow
// nodes take a message now and then. It returns how many were written when the first was held back,
// and by how many bytes the last of the slow ones was ever behind.
func slowWriting(w *world, key string, slow ...int) (written, heldAt, worst int) {
	a := w.nodes[0]
	isSlow := func(p packet) bool {
		return slices.Contains(slow, int(p.to)) || slices.Contains(slow, int(p.from))
	}
	var waits []uint64
	for step := range 2400 {
		if len(waits) == 0 && written < 400 { // one caller, which waits for each answer
			written++
			waits = append(waits, a.put(key, fmt.Sprintf("%03d%s", written, strings.Repeat("x", 40)), quorum.Local))
		}
		for i := 0; i < len(w.net); {
			if isSlow(w.net[i]) {
				i++
			} else {
				w.deliver(i)
			}
		}
		for i := range w.nodes {
			if !slices.Contains(slow, i+1) {
				w.nodes[i].persist()
			}
		}
		if step%12 == 0 {
			for range min(len(w.net), len(slow)) {
				w.deliver(0)
			}
			for _, n := range slow {
				w.nodes[n-1].persist()
			}
		}
		if step%20 == 0 {
			w.now = w.now.Add(time.Millisecond)
			a.step(Tick{})
		}
		worst = max(worst, a.behind(a.m.SpaceOf(key), crdt.Origin(slow[len(slow)-1])))
		waits = slices.DeleteFunc(waits, func(id uint64) bool { _, ok := a.results[id]; return ok })
		if heldAt == 0 && a.m.site.Counters.Held > 0 {
			heldAt = written
		}
	}
	return written, heldAt, worst
}

// slowConfig has little room for what a slow peer lacks.
var slowConfig = settings.Config{
	DurableKeys: []string{"d/*"}, BacklogMax: 8192, FrameMax: 1024, LogMax: 200, GossipInterval: time.Hour,
}

// A sustained writer at Local does not outrun a majority: the writer's caller is held back, and goes
// on as the slow peers do.
func TestWriterWaitsForSlowPeers(t *testing.T) {
	for _, key := range []string{"s", "d/s"} {
		w := cluster(t, 3, slowConfig)
		a := w.nodes[0]
		written, heldAt, worst := slowWriting(w, key, 2, 3)
		if worst > slowConfig.BacklogMax+1024 {
			t.Errorf("%s: 3 was %d bytes behind, %d may be", key, worst, slowConfig.BacklogMax)
		}
		if a.holds != 1 { // once a minute
			t.Errorf("%s: %d times it was said that updates wait", key, a.holds)
		}
		if a.m.site.Counters.Held == 0 || heldAt > 200 {
			t.Errorf("%s: no write was held back: %+v, first at %d", key, a.m.site.Counters, heldAt)
		}
		w.advance(time.Second)
		w.same()
		if n := len(w.node(3).set(key)); n != written || written < 150 || w.node(3).m.site.Counters.Repairs > 0 {
			t.Errorf("%s: 3 has %d elements of %d, repairs %d", key, n, written, w.node(3).m.site.Counters.Repairs)
		}
	}
}

// While a majority keeps up, one slow peer holds no update back. It falls out of what is kept for it,
// which stays bounded, and comes to have all the same.
func TestOneSlowPeerHoldsUpNoUpdate(t *testing.T) {
	for _, key := range []string{"s", "d/s"} {
		w := cluster(t, 3, slowConfig)
		a := w.nodes[0]
		written, _, worst := slowWriting(w, key, 3)
		if c := a.m.site.Counters; c.Held > 0 || a.holds > 0 || written != 400 {
			t.Errorf("%s: %d of 400 elements are written, with a slow node of three: %+v", key, written, c)
		}
		if worst <= slowConfig.BacklogMax || worst > 2*slowConfig.BacklogMax {
			t.Errorf("%s: 3 was at most %d bytes behind of what is kept", key, worst)
		}
		w.advance(time.Second)
		w.same()
		if n := len(w.node(3).set(key)); n != written {
			t.Errorf("%s: 3 has %d elements of %d", key, n, written)
		}
	}
}

// A dead peer holds up no update while it is known to be unreachable. If it just does not answer,
// it holds up updates for RetryInterval at most.
func TestDeadPeerHoldsUpNobody(t *testing.T) {
	w := cluster(t, 2, settings.Config{
		BacklogMax: 1024, FrameMax: 512, LogMax: 100, GossipInterval: time.Hour, RetryInterval: 100 * time.Millisecond,
	})
	a := w.nodes[0]
	w.isolate(2)
	a.step(Reachable{2, false})
	for i := range 500 {
		id := a.put("s", fmt.Sprint(i), quorum.Local)
		a.want(id, nil)
		w.quiet()
	}
	a.step(Reachable{2, true})
	w.mendAll()
	w.advance(time.Second)
	w.same()
	// Now node 2 falls silent, and its peer has not noticed.
	w.isolate(2)
	var first uint64
	for i := range 500 {
		if id := a.put("s", fmt.Sprint("silent", i), quorum.Local); first == 0 {
			if _, ok := a.results[id]; !ok {
				first = id
			}
		}
		for len(w.net) > 0 {
			w.deliver(0)
		}
	}
	if a.wantOpen(first); first == 0 {
		t.Fatal("no write waits for a peer that may just be slow")
	}
	w.advance(100 * time.Millisecond)
	if a.want(first, nil); a.m.spaces[keyspace.Volatile].holding.Len() > 0 {
		t.Fatalf("%d are still held back", a.m.spaces[keyspace.Volatile].holding.Len())
	}
	// Node 2 comes back far behind. It holds up no update while it is repaired.
	w.mendAll()
	a.want(a.put("s", "more", quorum.Local), nil)
	w.advance(2 * time.Second)
	w.same()
}

// crowd makes a peer fall behind as far as it may.
func crowd(t *testing.T, cfg settings.Config) (w *world, a *node) {
	cfg.BacklogMax, cfg.FrameMax, cfg.GossipInterval, cfg.RetryInterval = 1024, 512, time.Hour, time.Hour
	w = cluster(t, 2, cfg)
	a = w.nodes[0]
	w.sever(1, 2)
	for i := range 20 {
		a.put("s", fmt.Sprint("elem", i), quorum.Local)
	}
	if a.m.site.Counters.Held == 0 {
		t.Fatal("no write waits")
	}
	return w, a
}

// An update that is held back until its time is up has not happened, and never will.
func TestUpdateHeldBackTooLongNeverHappens(t *testing.T) {
	w, a := crowd(t, settings.Config{OperationTimeout: time.Second})
	ran := false
	a.step(Update{ID: 100, Key: "s", Mutate: func(tx *crdt.Tx) error {
		ran = true
		return addOne.Mutator(tx).Add("late")
	}})
	a.step(Update{ID: 101, Key: "s", Write: quorum.Majority, Mutate: func(tx *crdt.Tx) error {
		return addOne.Mutator(tx).Add("later")
	}})
	a.wantOpen(100)
	w.advance(2 * time.Second)
	for _, id := range []uint64{100, 101} {
		if r := a.want(id, operation.ErrOverloaded); errors.Is(r.Err, operation.ErrTimeout) ||
			!strings.Contains(r.Err.Error(), "nothing happened") ||
			!strings.Contains(r.Err.Error(), "2 is ") {
			t.Errorf("%v", r.Err)
		}
	}
	w.mendAll()
	a.step(Reachable{2, false})
	a.step(Reachable{2, true})
	w.advance(2 * time.Second)
	if ran || slices.Contains(a.set("s"), "late") {
		t.Error("it happened")
	}
	if a.m.spaces[keyspace.Volatile].holding.Len() > 0 {
		t.Error("something is left")
	}
	w.same()
}

// Updates that are held back take their turn in order, also those that fail or change nothing. When
// the replica leaves the view, their callers get ErrNoView.
func TestHeldUpdatesHaveTheirTurnInOrder(t *testing.T) {
	w, a := crowd(t, durableD)
	mine := errors.New("mine")
	a.step(Update{ID: 100, Key: "s", Write: quorum.All, Mutate: func(*crdt.Tx) error { return mine }})
	a.step(Delete{ID: 101, Key: "s", Write: quorum.Majority})
	a.step(Update{ID: 102, Key: "s", Write: quorum.All, Mutate: func(*crdt.Tx) error { return nil }})
	a.step(Update{ID: 103, Key: "s", Mutate: func(tx *crdt.Tx) error { return addOne.Mutator(tx).Add("last") }})
	x := a.put("d/s", "x", quorum.Local)
	a.persist()
	a.want(x, nil) // the other space is not crowded
	w.mendAll()
	a.step(Reachable{2, false})
	a.step(Reachable{2, true})
	w.advance(2 * time.Second)
	a.want(100, mine)
	for _, id := range []uint64{101, 102, 103} {
		a.want(id, nil)
	}
	a.wantSet("s", "last")
	w.same()

	_, a = crowd(t, settings.Config{})
	a.step(Update{ID: 100, Key: "s", Mutate: func(*crdt.Tx) error { return nil }})
	a.step(Install{viewOf(2, 2)})
	a.want(100, operation.ErrNoView)
}

// Writers do not starve linearizable readers: a read that they disturb again and again has them
// held back for a moment.
func TestWritersDoNotStarveLinearizableReads(t *testing.T) {
	for _, latency := range []time.Duration{100 * time.Microsecond, 20 * time.Millisecond} {
		w := cluster(t, 3, settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Hour})
		type late struct {
			packet
			at time.Time
		}
		var wire []late
		written, answered, worst, waiting := 0, 0, time.Duration(0), map[uint64]bool{}
		var began time.Time
		var read uint64
		start := w.now
		for w.now.Sub(start) < 200*latency {
			for _, p := range w.net {
				wire = append(wire, late{p, w.now.Add(latency)})
			}
			w.net = nil
			for len(wire) > 0 && !w.now.Before(wire[0].at) {
				p := wire[0].packet
				wire = wire[1:]
				w.node(p.to).step(&Receive{From: p.from, Msg: p.msg})
			}
			for i, n := range w.nodes { // the key is written all the time
				for id := range waiting {
					if _, ok := n.results[id]; ok {
						delete(waiting, id)
					}
				}
				if len(waiting) < 3 {
					waiting[n.put("s", fmt.Sprint(i, written%100), quorum.Local)] = true
					written++
				}
				if at := n.m.Deadline(); !at.IsZero() && !at.After(w.now) {
					n.step(Tick{})
				}
			}
			b := w.node(2)
			if _, ok := b.results[read]; ok || read == 0 {
				if read != 0 {
					answered++
					worst = max(worst, w.now.Sub(began))
				}
				began, read = w.now, b.get("s", quorum.Linearizable)
			}
			w.now = w.now.Add(latency / 4)
		}
		t.Logf("latency %v: %d reads while %d writes, at worst after %v", latency, answered, written, worst)
		if answered < 5 || worst > 30*latency+5*time.Millisecond || written < 500 {
			t.Errorf("latency %v: %d reads while %d writes, at worst after %v", latency, answered, written, worst)
		}
	}
}
