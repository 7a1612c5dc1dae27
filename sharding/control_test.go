package sharding

import (
	"context"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// controlOf runs fn in the control loop of a region.
func controlOf(g *Region[message_], fn func(c *control.Plane)) {
	done := make(chan struct{})
	g.run.control.Inbox.Do(func(c *control.Plane, _ time.Time) {
		fn(c)
		close(done)
	})
	<-done
}

// Hazard 7: a peer that cannot be reached for long does not make the fences that wait for it grow
// without bound.
func TestWaitingFencesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		n := w.join("frontend")
		g := start(n, cartType(&cartLog{}))
		w.install()
		far := view.Member{UID: 99, Status: view.Up, Roles: []string{"backend"}}
		controlOf(g, func(c *control.Plane) {
			c.View = &view.View{Epoch: 9, Members: []view.Member{far}}
			for seq := range uint64(100) {
				c.Retries.Fence(time.Now(), c.View, protocol.SendFence{
					To: 99, Shard: 3, HandOff: protocol.Token{Epoch: 1, Seq: seq},
				})
			}
		})
		<-time.After(time.Second)
		controlOf(g, func(c *control.Plane) {
			if len(c.Retries.Fences) != 1 || c.Retries.Fences[3].HandOff.Seq != 99 {
				t.Errorf("%v wait", c.Retries.Fences)
			}
		})
	})
}

// Messages that were about to leave along a route that is taken back are asked for again: they are
// in no other list.
func TestBufferThatIsTakenBackIsWanted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		n := w.join("frontend")
		g := start(n, cartType(&cartLog{}))
		w.install()
		number := g.plane.Routes.ShardOf("a")
		controlOf(g, func(c *control.Plane) {
			// unknown to the transport: nothing can leave
			c.SetRoute(time.Now(), number, protocol.Route{State: protocol.RouteRemote, Home: 99})
		})
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		controlOf(g, func(c *control.Plane) {
			c.SetRoute(time.Now(), number, protocol.Route{})
			if got := c.Todo[len(c.Todo)-1].Region; got != (protocol.Wanted{Shard: protocol.ShardID(number)}) {
				t.Errorf("the home of a shard with messages is not asked for: %v", got)
			}
		})
	})
}

// A StartEntity that waits when its shard moves is answered by the next home.
func TestStartEntityWhileTheShardMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.join("backend"), w.join("backend")
		typ := cartType(&cartLog{})
		typ.Shards, typ.Remember.Entities = 1, true
		ra := start(a, typ)
		w.install()
		start(b, typ)
		if _, err := ra.StartEntity(within(t, time.Minute), "a"); err != nil {
			t.Fatal(err)
		}
		writes := w.store.Stall("sharding/Cart/ids/0")
		started := make(chan error, 2)
		for _, id := range []string{"b", "c"} {
			go func() { _, err := ra.StartEntity(context.Background(), id); started <- err }()
		}
		left := make(chan error, 1)
		<-time.After(time.Second)
		go func() { left <- w.handsOver(a, time.Minute) }()
		<-time.After(time.Second)
		go func() { _, err := ra.StartEntity(context.Background(), "d"); started <- err }()
		<-time.After(time.Second)
		writes()
		if err := <-left; err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := <-started; err != nil {
				t.Error(err)
			}
		}
	})
}
