package sharding

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// A reminder goes with its shard: it comes where that is hosted when it is due, after a move in order
// and after the death of a node, with no message. What stood in a mailbox when the shard moved comes
// there, too, and once.
func TestRemindMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			return errors.Join(c.RemindEvery("often", in(time.Hour), time.Hour, echo{}),
				c.Remind("once", in(90*time.Minute), echo{}))
		}))
		nodes := []*fakeNode{w.join("backend"), w.join("backend"), w.join("backend")}
		var regions []*Region[message_]
		for _, n := range nodes {
			regions = append(regions, start(n, typ))
		}
		w.install()
		tell(t, regions[0], addItem{})
		<-time.After(61 * time.Minute)
		if err := w.leaves(nodes[0], time.Minute); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		w.kill(nodes[1])
		<-time.After(time.Hour)
		d.want(t, "1h0m0s often ", "1h30m0s once ", "2h0m0s often ", "3h0m0s often ")
	})
}

// While a shard is handed over no reminder comes; what handlers have ended is written before. So none
// comes twice.
func TestRemindOnceOverMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const entities = 50
		var d diary
		var store memory.Store
		store.Before(func(_ context.Context, call string) error {
			<-time.After(20 * time.Millisecond)
			return nil
		})
		var handled [entities]atomic.Int64
		typ := reminding(&d, nil)
		typ.Shards, typ.Reminders.Store = 1, &store
		typ.New = func(*Context[message_]) Entity[message_] {
			return d.entity(func(c *Context[message_], m message_) error {
				if _, is := c.Reminder(); !is {
					return c.Remind("n", in(time.Duration(m.(addItem).N)*3*time.Millisecond+time.Minute), m)
				}
				<-time.After(time.Millisecond)
				handled[m.(addItem).N].Add(1)
				return nil
			})
		}
		n := w.join("backend")
		g := start(n, typ)
		start(w.join("backend"), typ)
		w.install()
		for i := range entities {
			if err := g.Tell(t.Context(), fmt.Sprint("e", i), addItem{N: i}); err != nil {
				t.Fatal(err)
			}
		}
		<-d.begun
		<-time.After(time.Minute + 75*time.Millisecond)
		if err := w.leaves(n, time.Minute); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		for i := range handled {
			if n := handled[i].Load(); n != 1 {
				t.Errorf("the reminder of e%d came %d times", i, n)
			}
		}
	})
}

// A handler that awaits a result, and is ended by force before it comes, has failed with its reminder:
// that comes again.
func TestRemindForsaken(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		typ := reminding(&d, nil)
		typ.New = func(*Context[message_]) Entity[message_] {
			return d.entity(func(c *Context[message_], _ message_) error {
				r, is := c.Reminder()
				if !is {
					return c.Remind("n", in(0), echo{})
				}
				if d.note(fmt.Sprint("n ", r.Tries)); r.Tries > 0 {
					return nil
				}
				_, err := c.Await() // for what never comes
				return errors.Join(err, c.Passivate())
			})
		}
		typ.Passivation.StopTimeout, typ.Reminders.BackoffMin = 10*time.Second, time.Minute
		g := start(w.join("backend"), typ)
		w.install()
		tell(t, g, addItem{})
		<-time.After(time.Hour)
		d.want(t, "0s n 0", "1m10s n 1")
	})
}

// A reminder that waits in a mailbox when its node ends is no message that is lost: it is stored, and
// comes on the next node. What a caller set meanwhile that waits for the store is told of the end.
func TestRemindEndsWithTheNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var store memory.Store
		var drops, came atomic.Int64
		var set atomic.Value
		typ := reminding(&d, nil)
		typ.Shards, typ.Reminders.Store = 1, &store
		typ.OnEvent = onEvent(func(Drop) { drops.Add(1) })
		typ.New = func(*Context[message_]) Entity[message_] {
			return d.entity(func(c *Context[message_], m message_) error {
				switch m.(type) {
				case addItem:
					return c.Remind("n", in(time.Minute), echo{})
				case silent:
					_, err := c.Await()
					return err
				case failing:
					store.Before(func(ctx context.Context, call string) error {
						if call == "Update" {
							<-ctx.Done()
						}
						return ctx.Err()
					})
					set.Store(c.Remind("m", in(time.Minute), echo{}))
				default:
					came.Add(1)
				}
				return nil
			})
		}
		n := w.join("backend")
		g := start(n, typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		<-time.After(30 * time.Second)
		tell(t, g, silent{})
		<-time.After(time.Minute)
		if err := g.Tell(t.Context(), "b", failing{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_ = g.Close(t.Context())
		w.kill(n)
		synctest.Wait()
		if err, _ := set.Load().(error); !errors.Is(err, ErrStopped) || drops.Load() != 0 {
			t.Errorf("%v for what was being set, and %d drops", err, drops.Load())
		}
		store.Before(nil)
		start(w.join("backend"), typ)
		w.install()
		<-time.After(time.Minute)
		if n := came.Load(); n != 1 {
			t.Errorf("the reminder came %d times, want once", n)
		}
	})
}

// While a shard drains none of its reminders is put into a mailbox. If its hand-off is taken back they
// come.
func TestRemindHandOffTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			return c.Remind("n", in(time.Minute), echo{})
		}))
		g := start(w.join("backend"), typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		r := g.run.control.Reminders
		for _, s := range g.plane.Routes.Shards() {
			r.Drain(s)
		}
		<-time.After(2 * time.Minute)
		d.want(t)
		for _, s := range g.plane.Routes.Shards() {
			r.Resume(s)
		}
		d.want(t, "2m0s n ")
	})
}

// What was under way in a shard that is lost counts no more here, and what its handlers come to is not
// written: the shard has another home.
func TestRemindForgetsLostShards(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var store memory.Store
		typ := reminding(&d, nil)
		typ.Reminders.Store = &store
		typ.New = func(*Context[message_]) Entity[message_] {
			return d.entity(func(c *Context[message_], _ message_) error {
				if _, is := c.Reminder(); !is {
					return c.Remind("n", in(0), echo{})
				}
				_, err := c.Await()
				return err
			})
		}
		n := w.join("backend")
		g := start(n, typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		counts := g.run.control.Reminders.Counts()
		if n := counts.UnderWay.Load(); n != 1 {
			t.Errorf("%d reminders are under way, want 1", n)
		}
		for _, fn := range n.views {
			fn(nil)
		}
		synctest.Wait()
		if n := counts.UnderWay.Load(); n != 0 {
			t.Errorf("%d reminders are under way, want none", n)
		}
		own, err := store.Of(t.Context(), FencingToken{}, ShardID(g.plane.Routes.ShardOf("a")), "a")
		if err != nil || len(own) != 1 || own[0].Tries != 0 {
			t.Errorf("%+v %v, want the reminder as it was set", own, err)
		}
	})
}

// stopping is an entity that stops when it may.
type stopping struct {
	receiveFunc
	may chan struct{}
}

func (s stopping) Stop(*Context[message_]) error {
	<-s.may
	return nil
}

// A shard whose stop is taken back, because one of its entities does not stop, goes on with its reminders: an
// entity sets some as before, and they come.
func TestRemindAfterAStopTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		set, came, aborted := make(chan error, 10), make(chan string, 10), make(chan struct{}, 10)
		may := make(chan struct{})
		typ := reminding(&d, nil)
		typ.Shards, typ.HandOff.StopTimeout, typ.HandOff.FinishTimeout = 1, 2*time.Second, 10*time.Second
		typ.Reminders.Store = &memory.Store{}
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.HandOffAborted {
				aborted <- struct{}{}
			}
		})
		typ.New = func(c *Context[message_]) Entity[message_] {
			receive := receiveFunc(func(c *Context[message_], m message_) error {
				if r, is := c.Reminder(); is {
					came <- r.Name
					return nil
				}
				name := m.(echo).Text
				set <- errors.Join(c.Remind("none", in(time.Hour), m), c.CancelReminder("none"),
					c.Remind(name, in(time.Hour), m))
				return nil
			})
			if c.ID() == "stuck" {
				return stopping{receive, may}
			}
			return receive
		}
		node := w.join("backend")
		g := start(node, typ)
		w.install()
		start(w.join("backend"), typ)
		for _, id := range []string{"a", "stuck"} {
			if err := errors.Join(g.Tell(t.Context(), id, echo{Text: "before"}), <-set); err != nil {
				t.Fatal(err)
			}
		}
		left := make(chan error, 1)
		go func() { left <- w.handsOver(node, 20*time.Second) }()
		<-aborted
		tell(t, g, echo{Text: "after"})
		if err := <-set; err != nil {
			t.Error(err)
		}
		close(may)
		<-left
		<-time.After(2 * time.Hour)
		close(came)
		all := map[string]int{}
		for name := range came {
			all[name]++
		}
		if all["before"] != 2 || all["after"] != 1 {
			t.Errorf("reminders came: %v", all)
		}
	})
}
