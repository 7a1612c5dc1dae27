package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// reminding is a type whose entities note the texts of their reminders. on handles other messages.
func reminding(d *diary, on func(c *Context[message_], m message_) error) EntityType[message_] {
	typ := timing(d, on)
	typ.New = func(*Context[message_]) Entity[message_] {
		return d.entity(func(c *Context[message_], m message_) error {
			r, is := c.Reminder()
			if !is {
				return on(c, m)
			}
			line := r.Name
			if e, is := m.(echo); is {
				line += " " + e.Text
			}
			if r.Missed > 0 {
				line += fmt.Sprintf(" missed %d", r.Missed)
			}
			if r.Tries > 0 {
				line += fmt.Sprintf(" tries %d", r.Tries)
			}
			d.note(line)
			return nil
		})
	}
	typ.Reminders.Enabled = true
	typ.Passivation.Strategy.IdleTimeout = time.Minute
	return typ
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

// setting is a handler that calls fn for the first message that is none of a reminder.
func setting(t *testing.T, fn func(c *Context[message_]) error) func(*Context[message_], message_) error {
	return func(c *Context[message_], m message_) error {
		if _, is := m.(addItem); !is {
			return nil
		}
		if err := fn(c); err != nil {
			t.Error(err)
		}
		return nil
	}
}

// A reminder comes at its time, once, and wakes an entity that was passivated; one with a period comes
// again and again; one that was set anew comes as it was set last; and one that was cancelled does not.
func TestRemind(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var listed string
		g := start(w.join("backend"), reminding(&d, setting(t, func(c *Context[message_]) error {
			err := errors.Join(
				c.Remind("late", in(time.Hour), echo{Text: "an hour"}),
				c.Remind("soon", in(time.Hour), echo{Text: "never"}),
				c.Remind("soon", in(time.Second), echo{Text: "a second"}),
				c.Remind("past", in(-time.Second), echo{Text: "at once"}),
				c.Remind("gone", in(time.Second), echo{Text: "never"}),
				c.CancelReminder("gone"), c.CancelReminder("what was never set"),
				c.RemindEvery("often", in(time.Minute), 40*time.Minute, echo{}),
			)
			all, failed := c.Reminders()
			for _, r := range all {
				listed += fmt.Sprintf("%s %v %v;", r.Name, time.Until(r.Due), r.Every)
			}
			return errors.Join(err, failed)
		})))
		w.install()
		tell(t, g, addItem{})
		<-time.After(30 * time.Minute)
		if n := g.Stats().Entities; n != 0 {
			t.Errorf("%d entities are active", n)
		}
		<-time.After(time.Hour)
		d.want(t, "0s past at once", "1s soon a second", "1m0s often ", "41m0s often ", "1h0m0s late an hour",
			"1h21m0s often ")
		if want := "late 1h0m0s 0s;often 1m0s 40m0s;past -1s 0s;soon 1s 0s;"; listed != want {
			t.Errorf("%q, want %q", listed, want)
		}
	})
}

// A reminder whose handler fails comes again after a pause that grows, and is not lost; a handler that
// has awaited a result ends its reminder with the rest.
func TestRemindAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var typ EntityType[message_]
		fails := 0
		typ = reminding(&d, nil)
		typ.New = func(*Context[message_]) Entity[message_] {
			return d.entity(func(c *Context[message_], _ message_) error {
				r, is := c.Reminder()
				if !is {
					return errors.Join(c.Remind("fails", in(0), echo{}),
						c.Remind("panics", in(time.Hour), echo{}), c.Remind("awaits", in(2*time.Hour), echo{}))
				}
				d.note(fmt.Sprintf("%s %d", r.Name, r.Tries))
				fails++
				switch {
				case r.Tries == 2:
					return nil
				case r.Name == "fails":
					return errors.New("no luck")
				case r.Name == "panics":
					panic("no luck")
				}
				rest, err := c.Await()
				time.AfterFunc(10*time.Second, func() {
					rest.Continue(func(*Context[message_]) error { return errors.New("no luck") })
				})
				return err
			})
		}
		typ.Reminders.BackoffMin, typ.Reminders.BackoffMax = time.Minute, 90*time.Second
		g := start(w.join("backend"), typ)
		w.install()
		tell(t, g, addItem{})
		<-time.After(5 * time.Hour)
		d.want(t, "0s fails 0", "1m0s fails 1", "2m30s fails 2",
			"1h0m0s panics 0", "1h1m0s panics 1", "1h2m30s panics 2",
			"2h0m0s awaits 0", "2h1m10s awaits 1", "2h2m50s awaits 2")
	})
}

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

// What is wrong with a reminder, or with a type whose entities set some, is said at once.
func TestRemindErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var got [7]error
		var store memory.Store
		failure := errors.New("no room on the disk")
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			got[0] = c.Remind("", in(0), echo{})
			got[1] = c.RemindEvery("n", in(0), time.Millisecond, echo{})
			got[2] = c.RemindEvery("n", in(0), 0, echo{})
			got[3] = errors.Join(c.Remind("n", in(time.Hour), echo{}), c.Remind("o", in(time.Hour), echo{}),
				c.Remind("o", in(time.Hour), echo{}))
			got[4] = c.Remind("p", in(time.Hour), echo{})
			store.Before(func(_ context.Context, call string) error {
				if call == "Update" {
					return failure
				}
				return nil
			})
			got[5] = c.CancelReminder("o")
			return nil
		}))
		typ.Reminders.EntityMax, typ.Reminders.Store = 2, &store
		g := start(w.join("backend"), typ)
		w.install()
		tell(t, g, addItem{})
		<-time.After(time.Minute)
		for i, want := range []error{
			ErrInvalidReminder, ErrInvalidReminder, ErrInvalidReminder, nil, ErrTooManyReminders, failure,
		} {
			if !errors.Is(got[i], want) {
				t.Errorf("%d: %v, want %v", i, got[i], want)
			}
		}
		if err := g.StopShards(t.Context(), 0); !errors.Is(err, ErrConfig) {
			t.Errorf("StopShards: %v", err)
		}
	})
	off := timing(&diary{}, nil)
	off.Reminders.Store = &memory.Store{}
	if err := off.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Reminders.Enabled") {
		t.Error(err)
	}
	off.Reminders = Reminders{Enabled: true, FiringMax: -1, EntityMax: -1, BackoffMin: -1, BackoffMax: -1}
	if err := off.Validate(); err == nil || strings.Count(err.Error(), "Reminders.") != 4 {
		t.Error(err)
	}
	off.Reminders = Reminders{Enabled: true, BackoffMax: time.Millisecond}
	if err := off.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "below BackoffMin 1s") {
		t.Error(err)
	}
	off.Reminders = Reminders{Enabled: true, BackoffMin: time.Hour}
	if err := off.Validate(); err != nil {
		t.Error(err)
	}
}

// Without EntityType.Reminders.Enabled a handler gets a clear error, and nothing is read or written.
func TestRemindNotEnabled(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var got error
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			got = c.Remind("n", in(0), echo{})
			return nil
		}))
		typ.Reminders = Reminders{}
		g := start(w.join("backend"), typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		if !errors.Is(got, ErrConfig) || !strings.Contains(got.Error(), "Reminders.Enabled") {
			t.Error(got)
		}
	})
}

// At most FiringMax reminders of a shard are with their handlers at one time.
func TestRemindFiringMax(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var now, most, all atomic.Int64
		typ := reminding(&d, nil)
		typ.Shards, typ.Reminders.FiringMax, typ.Limits.Workers = 1, 3, 8
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, is := c.Reminder(); !is {
					return c.Remind("n", in(time.Hour), m)
				}
				most.Store(max(most.Load(), now.Add(1)))
				rest, err := c.Await()
				time.AfterFunc(time.Second, func() {
					rest.Continue(func(*Context[message_]) error {
						now.Add(-1)
						all.Add(1)
						return nil
					})
				})
				return err
			})
		}
		g := start(w.join("backend"), typ)
		w.install()
		for i := range 20 {
			if err := g.Tell(t.Context(), fmt.Sprint("e", i), addItem{}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(2 * time.Hour)
		if most.Load() != 3 || all.Load() != 20 {
			t.Errorf("%d at one time, %d in all; want 3 and 20", most.Load(), all.Load())
		}
	})
}

// What cannot be decoded, and what belongs to another shard, is told of and not lost; the store's
// failures are told of, and their end.
func TestRemindEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var store memory.Store
		var mu sync.Mutex
		told := map[protocol.EventKind]int{}
		typ := reminding(&d, nil)
		typ.Shards, typ.Reminders.Store = 4, &store
		typ.OnEvent = onNotes(func(e protocol.Event) {
			mu.Lock()
			defer mu.Unlock()
			told[e.Kind]++
		})
		put := func(shard ShardID, id protocol.EntityID, body []byte) {
			at := in(time.Minute).Round(0)
			c := remind.Change{
				Reminder: remind.Reminder{Entity: id, Name: "n", Due: at, At: at, Body: body, Version: 1},
			}
			if err := store.Update(t.Context(), shard, []remind.Change{c}); err != nil {
				t.Fatal(err)
			}
		}
		home := ShardOf("a", 4)
		put(home, "a", []byte{0xff})
		put((home+1)%4, "a", []byte{0xff})
		put(9, "a", []byte{0xff})
		var fails atomic.Bool
		store.Before(func(context.Context, string) error {
			if fails.Load() {
				return errors.New("gone")
			}
			return nil
		})
		start(w.join("backend"), typ)
		w.install()
		<-time.After(61 * time.Second)
		fails.Store(true)
		<-time.After(time.Minute)
		fails.Store(false)
		<-time.After(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for kind, least := range map[protocol.EventKind]int{
			protocol.ReminderDamaged: 2, protocol.ReminderStranded: 3, protocol.RemindersFailed: 1,
			protocol.RemindersResumed: 1,
		} {
			if told[kind] < least {
				t.Errorf("%v was told %d times, want %d at least", kind, told[kind], least)
			}
		}
		d.want(t)
	})
}

// After a stop of all nodes a reminder comes with no message: its shard is started for it. The nodes
// keep it on their disks.
func TestRemindSurvivesAStopOfAll(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	came := make(chan Reminder, 16)
	var due time.Time
	life := func(handler error) (nodes []*ddata.Node, g *Region[message_]) {
		nodes = ddatatest.StartWith(t, len(dirs), func(i int, c *ddata.Config) {
			c.Roles, c.Dir = []string{"backend"}, dirs[i]
		})
		typ := cartType(&cartLog{})
		typ.Reminders.Enabled = true
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], _ message_) error {
				if r, is := c.Reminder(); is {
					came <- r
					return handler
				}
				due = time.Now()
				if err := c.Remind("n", due, echo{}); err != nil {
					return err
				}
				return c.Reply("")
			})
		}
		for _, n := range nodes {
			var err error
			if g, err = Start(n, typ); err != nil {
				t.Fatal(err)
			}
		}
		return nodes, g
	}
	wait := func() {
		t.Helper()
		select {
		case r := <-came:
			if r.Name != "n" || !r.Due.Equal(due) {
				t.Errorf("%+v, want n of %v", r, due)
			}
		case <-within(t, time.Minute).Done():
			t.Fatal("the reminder has not come")
		}
	}
	nodes, g := life(errors.New("not in this life"))
	if _, err := Ask(within(t, time.Minute), g.Ref("a"), echo{}); err != nil {
		t.Fatal(err)
	}
	wait()
	for _, n := range nodes {
		_ = n.Close()
	}
	for len(came) > 0 {
		<-came
	}
	life(nil)
	wait()
}

// A node that can keep no reminder refuses a type whose entities set some.
func TestRemindWithoutDisks(t *testing.T) {
	n := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })[0]
	typ := cartType(&cartLog{})
	typ.Reminders.Enabled = true
	if _, err := Start(n, typ); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Reminders.Enabled") {
		t.Error(err)
	}
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
		own, err := store.Of(t.Context(), ShardID(g.plane.Routes.ShardOf("a")), "a")
		if err != nil || len(own) != 1 || own[0].Tries != 0 {
			t.Errorf("%+v %v, want the reminder as it was set", own, err)
		}
	})
}

// What becomes of reminders is counted.
func TestRemindMetrics(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		typ := reminding(&d, nil)
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], _ message_) error {
				switch r, is := c.Reminder(); {
				case !is:
					return errors.Join(c.Remind("once", in(0), echo{}), c.Remind("twice", in(0), echo{}),
						c.Remind("waits", in(time.Hour), echo{}), c.Remind("hangs", in(time.Minute), echo{}))
				case r.Name == "twice" && r.Tries == 0:
					return errors.New("no luck")
				case r.Name == "hangs":
					_, err := c.Await()
					return err
				}
				return nil
			})
		}
		m, p := eventstest.NewMeter("coterie_sharding_", "type"), w.join("backend").ports()
		p.Meter = m
		g, err := StartOn(p, typ)
		if err != nil {
			t.Fatal(err)
		}
		w.install()
		tell(t, g, addItem{})
		<-time.After(2 * time.Minute)
		m.Want(t, map[string]int{
			"reminders_fired_total": 4, "reminders_handled_total": 2, "reminders_failed_total": 1,
			"reminders_under_way": 1, "reminder_lateness_seconds": 4,
		})
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
