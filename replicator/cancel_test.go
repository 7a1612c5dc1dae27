package replicator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Cancel ends what waits for acks, for the own disk, for answers, for agreement, and what is held
// back, and leaves no trace of it but the write itself.
func TestCancelFreesWhatWaits(t *testing.T) {
	cfg := settings.Config{DurableKeys: []string{"d/*"}, BacklogMax: 512, PushWindow: 512,
		PushFlight: 1, PendingMax: 100,
		OperationTimeout: time.Hour,
		RetryInterval:    time.Minute}
	w := cluster(t, 3, cfg)
	a, b := w.nodes[0], w.nodes[1]
	a.put("s", "seen", quorum.All)
	w.quiet()
	w.isolate(1)
	ids := []uint64{
		a.put("s", "written", quorum.Majority), a.take("s", "absent", quorum.Majority),
		a.put("d/s", "disk", quorum.Local), a.put("d/s", "both", quorum.All),
		a.get("s", quorum.Majority), a.get("s", quorum.Linearizable),
	}
	for i := range 40 { // until the backlog holds updates back
		ids = append(ids, a.put("s", fmt.Sprintf("%040d", i), quorum.Local))
	}
	held := a.put("s", "held", quorum.Majority)
	ids = append(ids, held)
	s := a.m.spaces[keyspace.Volatile]
	if s.holding.Len() == 0 || s.writes.Len() < 2 || s.reads.Len() == 0 || s.compares.Len() == 0 {
		t.Fatalf("%d held, %d writes, %d rounds, %d linear",
			s.holding.Len(), s.writes.Len(), s.reads.Len(), s.compares.Len())
	}
	waited := a.m.ops.Pending()
	a.step(Cancel{IDs: append(ids, 1<<40)})
	if a.m.ops.Pending() != 0 || s.holding.Len()+s.writes.Len()+a.m.spaces[keyspace.Durable].writes.Len() != 0 {
		t.Fatalf("%d of %d wait, %d held, %d and %d writes", a.m.ops.Pending(), waited, s.holding.Len(),
			s.writes.Len(), a.m.spaces[keyspace.Durable].writes.Len())
	}
	cancelled := 0
	for _, id := range ids {
		if r, ok := a.results[id]; !ok {
			t.Errorf("#%d was not answered", id)
		} else if errors.Is(r.Err, operation.ErrCancelled) {
			cancelled++
		}
	}
	if cancelled != waited || !errors.Is(a.results[held].Err, operation.ErrCancelled) {
		t.Fatalf("%d cancelled, %d waited", cancelled, waited)
	}
	a.step(Cancel{IDs: ids}) // they are answered: it is nothing
	w.mendAll()
	w.advance(3 * time.Minute)
	w.same()
	for _, elem := range []string{"written", "seen"} {
		if !b.has("s", elem) {
			t.Errorf("%q did not spread", elem)
		}
	}
	if !b.has("d/s", "disk") || !b.has("d/s", "both") || b.has("s", "held") {
		t.Errorf("what was written spreads, what was held back never happened: %v %v", b.set("d/s"), b.has("s", "held"))
	}
	if n := s.reads.Len() + s.compares.Len(); n != 0 {
		t.Errorf("%d rounds and reads are left", n)
	}
}

func (n *node) has(key, elem string) bool {
	for _, e := range n.set(key) {
		if e == elem {
			return true
		}
	}
	return false
}

// An update whose time is up while it looks back has reached its level: it is answered without a
// state of its key.
func TestALookbackIsNoTimeOut(t *testing.T) {
	lookBackInVain(t, time.Minute, settings.Config{}.WithDefaults().OperationTimeout)
}

// What an ack has told and does not come is waited for no longer than GapDelay.
func TestALookbackEnds(t *testing.T) {
	lookBackInVain(t, 7*time.Millisecond, 7*time.Millisecond)
}

// lookBackInVain has an update told of an element that does not come, and wants it to be answered
// without a state after a while, and not before.
func lookBackInVain(t *testing.T, gapDelay, after time.Duration) {
	t.Helper()
	w := cluster(t, 3, settings.Config{GapDelay: gapDelay, GossipInterval: time.Hour})
	a, b := w.nodes[0], w.nodes[1]
	w.sever(a.id, b.id)
	b.put("k", "b", quorum.To(2))
	w.quiet()
	id := a.putThenGet("k", "a")
	w.quiet()
	a.wantOpen(id)
	w.advance(after)
	if r := a.want(id, nil); r.Read {
		t.Errorf("it is answered with %v, and has not seen b", a.saw[id])
	}
}

// While nothing is new here that the acks tell of, an update that looks back is answered with a state
// of its key as soon as its acks are there, each time.
func TestALookbackTakesOneTrip(t *testing.T) {
	w := cluster(t, 3, settings.Config{GapDelay: time.Minute, GossipInterval: time.Hour})
	a := w.nodes[0]
	for _, elem := range []string{"1", "2", "3"} {
		id := a.putThenGet("k", elem)
		w.quiet()
		if r := a.want(id, nil); !r.Read {
			t.Fatalf("the update of %s is answered without a state", elem)
		}
	}
}
