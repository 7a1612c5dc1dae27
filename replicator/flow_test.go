package replicator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// hops lets time pass in steps, in each of which what is on its way arrives, until stop says so or
// the time is over.
func (w *world) hops(step, most time.Duration, stop func() bool) {
	w.t.Helper()
	for end := w.now.Add(most); !stop() && w.now.Before(end); {
		w.now = w.now.Add(step)
		for range len(w.net) {
			w.deliver(0)
		}
		for _, n := range w.nodes {
			if at := n.m.Deadline(); !n.down && !at.IsZero() && !at.After(w.now) {
				n.step(Tick{})
			}
			for !n.down && len(n.batches) > 0 {
				n.persist()
			}
		}
	}
}

// big makes one group of n elements of 40 bytes each.
func (n *node) big(key string, count int) uint64 {
	n.write(key, func(s *crdt.ORSetTx[string]) error {
		return each(count, func(i int) error { return s.Add(fmt.Sprintf("%s-%037d", key, i)) })
	})
	return n.w.seq
}

// begun counts the flows that were begun, by sender and receiver, through what is sent.
func (w *world) begun() map[[2]crdt.Origin]int {
	all, drop := map[[2]crdt.Origin]int{}, w.drop
	newest := map[[2]crdt.Origin]uint64{}
	w.drop = func(p packet) bool {
		if part, ok := p.msg.(*wire.Part); ok && part.Flow > newest[[2]crdt.Origin{p.from, p.to}] {
			newest[[2]crdt.Origin{p.from, p.to}] = part.Flow
			all[[2]crdt.Origin{p.from, p.to}]++
		}
		return drop(p)
	}
	return all
}

// slowLine is a configuration in which a large group takes many round trips, and everything that
// could send it a second time comes often.
var slowLine = settings.Config{
	FrameMax: 512, PieceWindow: 2, RetryInterval: 20 * time.Millisecond,
	GossipInterval: 20 * time.Millisecond, BacklogMax: 4096,
}

// A group that is on its way in parts is not sent a second time, however long it takes. A missing
// ack does not cause it. Neither does the peer when it says that it lacks the group, by gossip or
// because of a later group.
func TestLargeGroupIsSentOnce(t *testing.T) {
	w := cluster(t, 2, slowLine)
	a, b := w.nodes[0], w.nodes[1]
	begun := w.begun()
	for k := range 3 {
		a.big(fmt.Sprint("big", k), 200)
	}
	a.take("big0", fmt.Sprintf("big0-%037d", 7), quorum.Local) // builds on what is under way
	began := w.now
	w.hops(2*time.Millisecond, time.Minute, func() bool { return b.m.spaces[keyspace.Volatile].Store.Len() == 599 })
	if took := w.now.Sub(began); took < 5*slowLine.RetryInterval {
		t.Fatalf("three large groups took %v: nothing could have been repeated", took)
	}
	w.advance(time.Second)
	w.same()
	if n := begun[[2]crdt.Origin{1, 2}]; n != 3 || b.m.site.Counters.Duplicates > 1 {
		t.Fatalf("three large groups went in %d flows, %d duplicates", n, b.m.site.Counters.Duplicates)
	}
}

// The last part of a message is acknowledged when it is decoded. A message that is lost before that
// is sent again.
func TestAWholeMessageThatIsLostIsSentAgain(t *testing.T) {
	w := cluster(t, 2, slowLine)
	a, b := w.nodes[0], w.nodes[1]
	begun, lost := w.begun(), 0
	w.loseWhole = func(effect.Whole) bool { lost++; return lost == 1 }
	a.big("big", 200)
	for range 10_000 {
		if lost > 0 || len(w.net) == 0 {
			break
		}
		w.deliver(0)
	}
	flow, next := b.m.site.Peers[0].Coming.Next()
	for _, p := range w.net {
		if ack, is := p.msg.(*wire.PartAck); is && ack.Flow == flow && ack.Next == next {
			t.Fatal("the last part is acknowledged before the message is decoded")
		}
	}
	w.hops(2*time.Millisecond, time.Minute, func() bool { return b.m.spaces[keyspace.Volatile].Store.Len() == 200 })
	if w.same(); lost < 2 || begun[[2]crdt.Origin{1, 2}] < 2 {
		t.Fatalf("%d messages came whole, of %d flows", lost, begun[[2]crdt.Origin{1, 2}])
	}
}

// What is small goes on beside a flow, both ways.
func TestSmallGoesBesideLarge(t *testing.T) {
	w := cluster(t, 2, slowLine)
	a, b := w.nodes[0], w.nodes[1]
	big := a.big("big", 1000)
	small := b.put("other", "b", quorum.Majority)
	for i := range 20 {
		a.put("small", fmt.Sprint(i), quorum.Local)
	}
	came := func() bool {
		r, ok := b.results[small]
		return ok && r.Err == nil && b.m.Snapshot(keyspace.Volatile).View("small").Len() == 20
	}
	w.hops(2*time.Millisecond, time.Minute, came)
	if !came() || b.m.Snapshot(keyspace.Volatile).View("big").Len() > 0 || len(a.results) != 21 {
		t.Fatalf("small writes wait for a large one: %d of %d answered\n%s", len(a.results), big, w.dump())
	}
	if held := a.m.site.Counters.Held; held > 0 {
		t.Fatalf("%d updates were held back because of one large group", held)
	}
	w.advance(time.Minute)
	w.same()
}

// A group is encoded once for all peers that it goes to.
func TestLargeGroupIsEncodedOnce(t *testing.T) {
	w := cluster(t, 3, slowLine)
	a := w.nodes[0]
	a.big("big", 200)
	s := a.m.spaces[keyspace.Volatile]
	c := wire.CargoOf(&wire.Push{Space: s.ID, Groups: []crdt.Group{s.pusher.Outbox().After(0)[0].Events}})
	p, q := a.m.site.Peers[0].Flows.Carrying(c, 1), a.m.site.Peers[1].Flows.Carrying(c, 1)
	if p == nil || p != q {
		t.Fatal("two encodings")
	}
}

// A flow that loses parts goes on. A flow to a peer that is gone for a while is given up, and what
// it carried reaches the peer later. Neither side keeps any of it.
func TestFlowOutlivesLoss(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(strings.Replace(fmt.Sprint("durable ", durable), " ", "=", 1), func(t *testing.T) {
			cfg := slowLine
			cfg.DurableKeys = durableD.DurableKeys
			w := cluster(t, 2, cfg)
			a, b := w.nodes[0], w.nodes[1]
			n := 0
			w.drop = func(p packet) bool { n++; return n%7 == 0 }
			key := "big"
			if durable {
				key = "d/big"
			}
			a.big(key, 200)
			half := func() bool { return b.m.site.Peers[0].Coming.Bytes() > 2000 }
			w.hops(2*time.Millisecond, time.Minute, half)
			if !half() {
				t.Fatal("the flow does not get on")
			}
			w.sever(1, 2)
			w.hops(10*time.Millisecond, time.Minute, func() bool { return false })
			if a.m.site.Peers[0].Flows.Len() > 0 || b.m.site.Peers[0].Coming.Bytes() > 0 {
				t.Fatalf("%d flows, %d bytes are kept", a.m.site.Peers[0].Flows.Len(), b.m.site.Peers[0].Coming.Bytes())
			}
			w.mendAll()
			w.hops(2*time.Millisecond, time.Minute, func() bool {
				return b.m.Snapshot(0).View(key).Len()+b.m.Snapshot(1).View(key).Len() == 200
			})
			w.drop = func(packet) bool { return false }
			w.advance(10 * time.Second)
			w.same()
		})
	}
}

// A sender that goes on with a flow that the receiver has given up does not wait without end: what
// the flow carried comes again.
func TestFlowGoesOnAfterItWasGivenUp(t *testing.T) {
	w := cluster(t, 2, slowLine)
	a, b := w.nodes[0], w.nodes[1]
	a.big("big", 200)
	w.hops(2*time.Millisecond, time.Minute, func() bool { return b.m.site.Peers[0].Coming.Bytes() > 2000 })
	b.m.site.Peers[0].Coming.GiveUp()
	w.hops(2*time.Millisecond, time.Minute, func() bool {
		return b.m.Snapshot(keyspace.Volatile).View("big").Len() == 200
	})
	w.advance(time.Second)
	w.same()
}
