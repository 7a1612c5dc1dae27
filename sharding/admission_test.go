package sharding

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// What another node has waiting in front of the region and in front of the coordinator is bounded
// for each of the two, what is above it is counted, and what was taken makes room.
func TestPeersInboxesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g := start(w.join("backend"), cartType(&cartLog{}))
		w.install()
		c := g.run.control
		region, coordinator := protocol.Message(protocol.Fence{Shard: 1}), protocol.Message(protocol.LeaveRequest{})
		if region.ToCoordinator() || !coordinator.ToCoordinator() {
			t.Fatal("the messages go another way than the test means")
		}
		hold := map[protocol.Message]func(func(time.Time)){
			region:      func(do func(time.Time)) { c.Inbox.Do(func(_ *control.Plane, now time.Time) { do(now) }) },
			coordinator: func(do func(time.Time)) { c.Coord.Do(do) },
		}
		lost := func() int { return int(g.plane.Drops.Count(DropInbox)) }
		for _, msg := range []protocol.Message{region, coordinator} {
			frame := codec.AppendControl(nil, protocol.AppendMessage(nil, msg))
			const crowd = 10_000
			var before []int
			for range 2 {
				held, free := make(chan struct{}), make(chan struct{})
				hold[msg](func(time.Time) { close(held); <-free })
				<-held
				was := lost()
				for range crowd {
					g.plane.Receive(transport.NodeID(4711), frame)
				}
				before = append(before, lost()-was)
				close(free)
				<-time.After(time.Second)
			}
			if before[0] == 0 || before[0] >= crowd || before[1] != before[0] {
				t.Errorf("%v: of twice %d messages that waited, %v were given up", msg, crowd, before)
			}
		}
	})
}

// What another node wants of single entities is bounded, too. Starts and passivations wait for the
// region, no more of them than one node may have there. A caller that asks above that limit hears
// that there is no room.
func TestPeersAdministrationIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g := start(w.join("backend"), cartType(&cartLog{}))
		w.install()
		c, r := g.run.control, g.plane
		for _, wire := range []uint32{codec.PassivateWireID, codec.StartWireID} {
			frame := cbor.AppendMap(codec.AppendMessageHead(nil, &codec.Message{
				Kind: codec.Tell, Shard: r.Routes.ShardOf("a"), Type: wire,
			}, "a"), 0)
			const crowd = 10_000
			var lost []uint64
			for range 2 {
				if _, err := g.StartEntity(within(t, time.Minute), "a"); err != nil {
					t.Fatal(err)
				}
				held, free := make(chan struct{}), make(chan struct{})
				c.Inbox.Do(func(*control.Plane, time.Time) { close(held); <-free })
				<-held
				was := r.Drops.Count(DropInbox)
				for range crowd {
					r.Receive(transport.NodeID(4711), frame)
				}
				lost = append(lost, r.Drops.Count(DropInbox)-was)
				close(free)
				<-time.After(time.Second)
			}
			if lost[0] == 0 || lost[0] >= crowd || lost[1] != lost[0] {
				t.Errorf("%d: of twice %d that waited, %v were given up", wire, crowd, lost)
			}
			if n := r.Drops.Count(DropUndecodable); n > 0 {
				t.Fatalf("%d were not understood", n)
			}
		}
		if failure.StatusOf(DropInbox) != codec.StatusFull {
			t.Error("a question above the limit is not told that the queue is full")
		}
	})
}
