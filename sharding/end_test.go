package sharding

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// soon fails the test when fn has not returned after a while of real time: for what would spin,
// which no virtual clock sees.
func soon(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal(what, "does not return")
	}
}

// An entity that ended with its shard is found no more: neither a sender nor the reader of a lane
// may look for it without end.
func TestDeadShardRefuses(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	ref := g.Ref("a")
	if _, err := Ask(t.Context(), ref, total{}); err != nil {
		t.Fatal(err)
	}
	s := g.plane.Routes.Slots[ref.to.Number].Load().Local
	e := s.Find("a")
	s.Shut(func(*entities.Entity, mailbox.Envelope, uint32) {})
	soon(t, "deliver", func() {
		for !e.State().IsClosed() {
			runtime.Gosched()
		}
		if v, _ := s.Deliver("a", mailbox.Envelope{Msg: addItem{}}, 0); v != mailbox.Refused {
			t.Errorf("verdict %d", v)
		}
		if v, _ := s.DeliverBytes([]byte("a"), mailbox.Envelope{Msg: addItem{}}, 0); v != mailbox.Refused {
			t.Errorf("verdict %d", v)
		}
	})
}

func TestTellAfterClose(t *testing.T) {
	w := newWorld(t)
	g := start(w.join("backend"), cartType(&cartLog{}))
	w.install()
	ref := g.Ref("a")
	if _, err := Ask(within(t, 10*time.Second), ref, total{}); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := func(err error) bool {
		return errors.Is(err, ErrStopped) && strings.Contains(err.Error(), `"Cart": Region.Close was called`)
	}
	soon(t, "Tell", func() {
		if err := g.Tell(t.Context(), "a", addItem{}); !stopped(err) {
			t.Errorf("tell: %v", err)
		}
		if err := ref.Tell(t.Context(), addItem{}); !stopped(err) {
			t.Errorf("ref: %v", err)
		}
		if _, err := Ask(t.Context(), g.Ref("b"), total{}); !stopped(err) {
			t.Errorf("ask: %v", err)
		}
	})
}

// A region that was closed and started again on the same node hosts its shards again: the
// coordinator took them for running.
func TestStartAgainOnTheSameNode(t *testing.T) {
	for name, alone := range map[string]bool{"coordinator": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				a, b := w.join("backend"), w.join("backend")
				again := a
				if !alone {
					again = b
				}
				regions := map[*fakeNode]*Region[message_]{
					a: start(a, cartType(&cartLog{})), b: start(b, cartType(&cartLog{})),
				}
				w.install()
				ctx := within(t, 5*time.Minute)
				for i := range 40 {
					if _, err := Ask(ctx, regions[a].Ref(fmt.Sprint("e", i)), total{}); err != nil {
						t.Fatal(err)
					}
				}
				if err := regions[again].Close(ctx); err != nil {
					t.Fatal(err)
				}
				again.forget()
				regions[again] = start(again, cartType(&cartLog{}))
				for i := range 40 {
					to := regions[again].Ref(fmt.Sprint("e", i))
					if _, err := Ask(within(t, 20*time.Second), to, total{}); err != nil {
						t.Fatalf("e%d: %v", i, err)
					}
				}
			})
		})
	}
}

// What waits in a mailbox is reported when its shard is killed while a worker is about to hold the
// entity.
func TestKillWhileAnEntityIsHeld(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	s := entities.NewShard(g.plane.Entities, 0, protocol.Token{})
	e := s.AddLocked("a")
	e.Push(mailbox.Envelope{Msg: addItem{}}, 0, 10)
	e.Refill(new(mailbox.Turn), 10) // a handler of it runs
	var dropped []mailbox.Envelope
	s.Shut(func(_ *entities.Entity, env mailbox.Envelope, _ uint32) { dropped = append(dropped, env) })
	e.Pause(mailbox.ForLease)
	if len(dropped) != 1 || !e.State().IsClosed() {
		t.Errorf("%d handed out, closed %v", len(dropped), e.State().IsClosed())
	}
}

// What waits in the mailboxes of a shard that is given up by force is dropped with its reason, each
// to the hook, and a question is answered (A15).
func TestKilledShardReports(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var drops []Drop
		typ := cartType(&cartLog{})
		typ.Shards = 1
		typ.OnEvent = onEvent(func(d Drop) {
			mu.Lock()
			defer mu.Unlock()
			drops = append(drops, d)
		})
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Minute)
		stuck := newGate()
		if err := g.Tell(ctx, "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		for range 5 {
			if err := g.Tell(ctx, "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		asked := make(chan error, 1)
		go func() {
			_, err := Ask(ctx, g.Ref("a"), total{})
			asked <- err
		}()
		synctest.Wait()
		controlOf(g, func(c *control.Plane) {
			c.RegionAction(time.Now(), protocol.KillShard{Shard: 0, Reason: protocol.DropHomeElsewhere})
		})
		synctest.Wait()
		close(stuck.open)
		if err := <-asked; !errors.Is(err, ErrStopped) {
			t.Errorf("the asker hears %v", err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(drops) != 6 {
			t.Errorf("drops %v", drops)
		}
		for _, d := range drops {
			if d.Reason != DropForced || d.ID != "a" {
				t.Errorf("dropped %v", d)
			}
		}
	})
}

// A call id that no question has comes from a broken peer; the entity must not mistake the message
// for a command.
func TestReservedCallIDs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		failures := 0
		typ.OnEvent = onEvent(func(Failure) { failures++ })
		g, _ := localRegion(t, typ)
		mt, _ := g.plane.Registry.Of(addItem{})
		body, _ := mt.Append(nil, addItem{"x", 1})
		for _, call := range []uint64{mailbox.ControlCall, mailbox.TimerCall} {
			m := codec.Message{Kind: codec.Ask, Shard: g.plane.Routes.ShardOf("a"), Type: mt.ID, Call: call}
			g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, "a"), body...))
		}
		synctest.Wait()
		if n, err := Ask(t.Context(), g.Ref("a"), total{}); n != 0 || err != nil || failures > 0 {
			t.Errorf("total %d, %v, %d failures", n, err, failures)
		}
		if n := g.plane.Drops.Count(DropUndecodable); n != 2 {
			t.Errorf("%d malformed frames", n)
		}
	})
}

// A node that ends while Start runs, or a role that no node has: nothing hangs.
func TestUnknownRoleOnARealNode(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	typ := cartType(&cartLog{})
	typ.Role, typ.Timeouts.Ask, typ.Limits.BufferMax = "absent", 200*time.Millisecond, 1
	g, err := Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "a question to a role without nodes", func() {
		if _, err := Ask(context.Background(), g.Ref("a"), total{}); !errors.Is(err, ErrUnknownRole) {
			t.Errorf("ask: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		if _, err := g.StartEntity(ctx, "a"); !errors.Is(err, ErrUnknownRole) {
			t.Errorf("start: %v", err)
		}
		if err := g.Tell(ctx, "a", addItem{}); !errors.Is(err, ErrUnknownRole) {
			t.Errorf("tell: %v", err)
		}
		if err := g.Tell(entities.InHandler, "a", addItem{}); !errors.Is(err, ErrUnknownRole) {
			t.Errorf("tell in a handler: %v", err)
		}
	})
}

// What was told while a region closed is counted, also when it came to a buffer after that was
// emptied.
func TestTellWhileTheRegionCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g := start(w.join("frontend"), cartType(&cartLog{}))
		w.install()
		r := g.plane
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		number := r.Routes.ShardOf("a")
		if err := r.Routes.Hold(number, routes.BufferedMessage{ID: "a", Size: 1}); err == nil {
			if err = r.Routes.Hold(number, routes.BufferedMessage{ID: "a", Size: 1}); err == nil {
				t.Error("a message waits in a region that has stopped")
			}
		}
		mt, _ := r.Registry.Of(addItem{})
		body, _ := mt.Append(nil, addItem{"x", 1})
		soon(t, "the reader of a lane", func() {
			r.Receive(7, append(codec.AppendMessageHead(nil, &codec.Message{
				Kind: codec.Tell, Shard: number, Type: mt.ID,
			}, "a"), body...))
		})
		if n := r.Drops.Count(DropStopped); n != 1 {
			t.Errorf("%d drops counted", n)
		}
	})
}

// A type whose timers do not fit is a fault of the type, however deep it is found.
func TestTimersThatDoNotFit(t *testing.T) {
	w := newWorld(t)
	typ := cartType(&cartLog{})
	typ.HandOff.StopTimeout = time.Hour
	if _, err := StartOn(w.join("backend").ports(), typ); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}

// A type is not started again on its node while a handler of the region before still runs: its
// entity would live twice.
func TestStartWhileHandlersOfTheLastRegionRun(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	g, err := Start(n, cartType(&cartLog{}))
	if err != nil {
		t.Fatal(err)
	}
	stuck := newGate()
	if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
		t.Fatal(err)
	}
	<-stuck.entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := g.Close(ctx); err == nil {
		t.Error("closed while a handler runs")
	}
	if _, err := Start(n, cartType(&cartLog{})); !errors.Is(err, ErrAlreadyStarted) {
		t.Errorf("start: %v", err)
	}
	close(stuck.open)
	soon(t, "Start", func() {
		for {
			if g, err = Start(n, cartType(&cartLog{})); err == nil {
				break
			}
			runtime.Gosched()
		}
	})
	if _, err := Ask(within(t, 10*time.Second), g.Ref("a"), total{}); err != nil {
		t.Error(err)
	}
}

// A stop that comes when the incarnation has ended already does not hit the next one.
func TestStopThatComesTooLate(t *testing.T) {
	log := &cartLog{}
	g, _ := localRegion(t, cartType(log))
	s := entities.NewShard(g.plane.Entities, 0, protocol.Token{})
	s.Mu.Lock()
	e := s.AddLocked("a")
	s.Mu.Unlock()
	for name, stop := range map[string]func(){
		"in order": func() { s.Command(e, mailbox.StopNow) }, "by force": e.Force,
	} {
		if stop(); e.State().Waiting != 0 {
			t.Errorf("%s: a stop waits for the next incarnation", name)
		}
		if x := e.Extra.Load(); x != nil && x.Forced.Load() {
			t.Errorf("%s: the next incarnation is stopped", name)
		}
	}
}

// While the cluster shuts down a question for what has ended, with its node or before it, fails at
// once and says why, wherever it is asked.
func TestQuestionsWhileTheClusterShutsDown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		nodes := []*fakeNode{w.join("backend"), w.join("backend"), w.join("frontend")}
		var regions []*Region[message_]
		for _, n := range nodes {
			regions = append(regions, start(n, cartType(&cartLog{})))
		}
		w.install()
		ctx := within(t, time.Hour)
		homes := map[view.UID]string{} // an entity of each node
		for i := 0; len(homes) < 2; i++ {
			id := fmt.Sprint("cart-", i)
			if _, err := Ask(ctx, regions[2].Ref(id), total{}); err != nil {
				t.Fatal(err)
			}
			if home, known := homeOf(regions[2], id); known {
				homes[home] = id
			}
		}
		refused := func(when, id string, by ...*Region[message_]) {
			t.Helper()
			for i, g := range by {
				began := time.Now()
				_, err := Ask(ctx, g.Ref(id), total{})
				if took := time.Since(began); !errors.Is(err, ErrStopped) ||
					!strings.Contains(err.Error(), "cluster shuts down") || took > time.Second {
					t.Errorf("%s, node %d: %v after %v", when, i, err, took)
				}
				if n := g.plane.Routes.Limit.Count.Load(); n != 0 {
					t.Errorf("%s, node %d: %d messages wait", when, i, n)
				}
			}
		}
		w.closes = true
		w.install()
		for i, n := range nodes[:2] { // the coordinator first
			id := homes[n.UID()]
			if err := w.handsOver(n, time.Minute); err != nil {
				t.Fatal(err)
			}
			refused("its node is still there", id, regions[i:]...)
			n.gone = true
			w.install()
			refused("its node has gone", id, regions[i+1:]...)
		}
		if n := regions[2].plane.Drops.Count(DropEnded); n == 0 {
			t.Error("no drop is counted")
		}
	})
}
