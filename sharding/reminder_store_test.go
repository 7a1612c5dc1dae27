package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
	"github.com/coterie-go/coterie/sharding/remind/rehash"
)

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

// damagedStore cannot read the reminders named "bad".
type damagedStore struct{ memory.Store }

func (s *damagedStore) Of(
	ctx context.Context, by FencingToken, shard ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	own, err := s.Store.Of(ctx, by, shard, id)
	bad := func(r remind.Reminder) bool { return r.Name == "bad" }
	if slices.ContainsFunc(own, bad) {
		err = fmt.Errorf("bad: %w", remind.ErrDamaged)
	}
	return slices.DeleteFunc(own, bad), err
}

// A damaged reminder does not hinder its entity: it lists the others, sets as many as it may have, and takes
// the damaged one away.
func TestRemindBesideADamagedOne(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var names [2]string
		var listed [2]error
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			list := func(i int) {
				all, err := c.Reminders()
				for _, r := range all {
					names[i] += r.Name
				}
				listed[i] = err
			}
			at := in(time.Hour)
			err := errors.Join(c.Remind("bad", at, echo{}), c.Remind("n", at, echo{}), c.Remind("o", at, echo{}))
			list(0)
			if many := c.Remind("p", at, echo{}); !errors.Is(many, ErrTooManyReminders) {
				t.Errorf("beyond EntityMax: %v", many)
			}
			err = errors.Join(err, c.CancelReminder("bad"))
			list(1)
			return err
		}))
		typ.Reminders.EntityMax, typ.Reminders.Store = 2, &damagedStore{}
		g := start(w.join("backend"), typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		if names != [2]string{"no", "no"} || !errors.Is(listed[0], remind.ErrDamaged) || listed[1] != nil {
			t.Errorf("the entity has %q, %v", names, listed)
		}
	})
}

// What an entity hears of a later hosting of its shard ends the reminders of the shard here, and is told of.
func TestRemindFenced(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		var store memory.Store
		var got error
		var told atomic.Int64
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			home := ShardID(c.Region().plane.Routes.ShardOf(c.ID()))
			_, _, err := store.Due(t.Context(), FencingToken{Era: 1 << 62}, home, time.Now(), 1)
			got = c.Remind("n", in(time.Hour), echo{})
			return err
		}))
		typ.Reminders.Store = &store
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.RemindersFailed {
				told.Add(1)
			}
		})
		g := start(w.join("backend"), typ)
		w.install()
		d.tellFirst(t, g, addItem{})
		if !errors.Is(got, remind.ErrFenced) || told.Load() != 1 {
			t.Errorf("%v, told %d times", got, told.Load())
		}
	})
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
			if err := store.Update(t.Context(), FencingToken{}, shard, 0, []remind.Change{c}); err != nil {
				t.Fatal(err)
			}
		}
		home := ShardOf("a", 4)
		put(home, "a", []byte{0xff})
		put((home+1)%4, "a", []byte{0xff})
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
			protocol.ReminderDamaged: 2, protocol.ReminderStranded: 2, protocol.RemindersFailed: 1,
			protocol.RemindersResumed: 1,
		} {
			if told[kind] < least {
				t.Errorf("%v was told %d times, want %d at least", kind, told[kind], least)
			}
		}
		d.want(t)
	})
}

// After a stop of all nodes a reminder comes with no message: its shard is started for it, also if that is another
// one, because Shards has changed. The nodes keep it on their disks.
func TestRemindSurvivesAStopOfAll(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	came := make(chan Reminder, 16)
	var due time.Time
	life := func(shards int, handler error) (nodes []*ddata.Node, g *Region[message_]) {
		nodes = ddatatest.StartWith(t, len(dirs), func(i int, c *ddata.Config) {
			c.Roles, c.Dir = []string{"backend"}, dirs[i]
		})
		typ := cartType(&cartLog{})
		typ.Shards, typ.Reminders.Enabled = shards, true
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
	before := 7
	for ShardOf("a", before) < 7 { // which there is not in the second life
		before++
	}
	nodes, g := life(before, errors.New("not in this life"))
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
	life(7, nil)
	wait()
}

// When Shards has changed before the store had a record of the layout, an alarm tells of reminders that nothing reads.
func TestRemindersBeyondTheShards(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		var store memory.Store
		r := remind.Reminder{Entity: "a", Name: "n", Due: in(time.Hour), At: in(time.Hour), Version: 1}
		for _, shard := range []ShardID{9, 7} {
			if err := store.Update(t.Context(), FencingToken{}, shard, 0, []remind.Change{{Reminder: r}}); err != nil {
				t.Fatal(err)
			}
		}
		var d diary
		typ := reminding(&d, nil)
		typ.Shards, typ.Reminders.Store = 5, &store
		told := make(chan protocol.Event, 10)
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.ReminderStranded {
				told <- e
			}
		})
		start(w.join("backend"), typ)
		w.install()
		if e := <-told; e.Shard != 7 || e.Count != 2 || !strings.Contains(e.Text, "beyond 5 shards") {
			t.Errorf("%+v", e)
		}
		<-time.After(time.Hour)
		if len(told) > 0 {
			t.Errorf("once more: %+v", <-told)
		}
	})
}

// When Shards has changed after a stop of all nodes, entities have all their reminders in their shards: they list
// them, take them away, and get them at their time with no message.
func TestRemindersMoveWithTheirEntities(t *testing.T) {
	const entities = 40
	var store memory.Store
	var due time.Time
	left := map[string]string{}
	for life, shards := range []int{6, 11, 4} {
		inBubble(t, func(t *testing.T, w *world) {
			w.era += view.Era(life) // the clock of its founder is later
			w.format = format.Headers
			var mu sync.Mutex
			var failures []error
			came := map[string]int{}
			typ := reminding(&diary{}, nil)
			typ.Shards, typ.Reminders.Store = shards, &store
			typ.New = func(*Context[message_]) Entity[message_] {
				return receiveFunc(func(c *Context[message_], _ message_) error {
					if _, is := c.Reminder(); is {
						mu.Lock()
						defer mu.Unlock()
						came[c.ID()]++
						return nil
					}
					all, err := c.Reminders()
					names := ""
					for _, r := range all {
						names += r.Name
					}
					mu.Lock()
					want := left[c.ID()]
					mu.Unlock()
					if err == nil && names != want {
						err = fmt.Errorf("%s has %q, want %q", c.ID(), names, want)
					}
					switch life {
					case 0:
						err = errors.Join(err, c.Remind("a", due, echo{}), c.Remind("b", due, echo{}))
						want = "ab"
					case 1:
						err = errors.Join(err, c.CancelReminder("a"))
						want = "b"
					}
					mu.Lock()
					defer mu.Unlock()
					left[c.ID()] = want
					failures = append(failures, err)
					return nil
				})
			}
			if life == 0 {
				due = in(24 * time.Hour)
			}
			nodes := []*fakeNode{w.join("backend"), w.join("backend")}
			g := start(nodes[0], typ)
			start(nodes[1], typ)
			w.install()
			if life < 2 {
				for i := range entities {
					if err := g.Tell(t.Context(), fmt.Sprint("e", i), addItem{}); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(time.Minute)
			} else {
				<-time.After(25 * time.Hour)
			}
			mu.Lock()
			defer mu.Unlock()
			if err := errors.Join(failures...); err != nil || life < 2 && len(failures) < entities {
				t.Fatalf("life %d: %d were handled: %v", life, len(failures), err)
			}
			for id := range left {
				if n := came[id]; life == 2 && n != 1 || life < 2 && n != 0 {
					t.Errorf("life %d: the reminder of %s came %d times", life, id, n)
				}
			}
		})
	}
}

// When the last node of a build has gone that does not know of the record of the layout, that is written, also if no
// entity uses its reminders. Shards may change then.
func TestRemindersHaveARecordAfterAnUpgrade(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Initial
		var store memory.Store
		var d diary
		typ := reminding(&d, setting(t, func(c *Context[message_]) error {
			return c.Remind("n", in(24*time.Hour), echo{})
		}))
		typ.Reminders.Store = &store
		g := start(w.join("backend"), typ)
		w.install()
		tell(t, g, addItem{})
		records := func() int {
			t.Helper()
			<-time.After(time.Minute)
			all, _, err := store.All(t.Context(), FencingToken{}, rehash.RecordShard, remind.Key{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		before := records()
		w.format = format.Headers
		w.install()
		if after := records(); before != 0 || after != 1 {
			t.Errorf("%d records before the upgrade, %d after it", before, after)
		}
	})
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
