package sharding

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events/eventstest"
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
