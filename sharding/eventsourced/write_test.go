package eventsourced

import (
	"cmp"
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

	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// only has a hook act at calls of one operation.
func only(op string, act func(ctx context.Context) error) func(context.Context, string, protocol.EntityID) error {
	return func(ctx context.Context, o string, _ protocol.EntityID) error {
		if o == op {
			return act(ctx)
		}
		return nil
	}
}

// times is an error for the first calls.
func times(n int64, err error) func(context.Context) error {
	var called atomic.Int64
	return func(context.Context) error {
		if called.Add(1) > n {
			return nil
		}
		return err
	}
}

// A reply, and what comes after it, waits until the events are stored. Other entities go on.
func TestRepliesOnlyAfterTheCommit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		b := sums()
		var after atomic.Int64
		b.Handle = func(c *sharding.Context[command], x sum, m command) (effect, error) {
			fx, err := handle(c, x, m)
			return fx.Then(func(_ *sharding.Context[command], x sum) error {
				after.Store(int64(x.total()))
				return nil
			}), err
		}
		g := single(t, s, b)
		wants(t, g, "a", add{N: 1}, 1)
		s.hook(func(_ context.Context, op string, id protocol.EntityID) error {
			if op == "append" && id == "a" {
				<-open
			}
			return nil
		}, nil)
		adding, getting := asks(t, g, "a", add{N: 2}), asks(t, g, elsewhere(g, "a"), add{N: 7})
		if got := <-getting; got.n != 7 {
			t.Error(got)
		}
		behind := asks(t, g, "a", get{})
		synctest.Wait()
		if len(adding)+len(behind) > 0 {
			t.Fatal("answered before the events were stored")
		}
		s.of("a", func(x *history) {
			if x.last() != 1 {
				t.Errorf("%d events are stored", x.last())
			}
		})
		close(open)
		if got := <-adding; got != (answer{3, nil}) {
			t.Error(got)
		}
		if got := <-behind; got != (answer{3, nil}) {
			t.Error(got)
		}
		if after.Load() != 3 {
			t.Error("Then has seen", after.Load())
		}
	})
}

// A write that fails fails the entity: the asker hears of it, and the next incarnation has what is
// stored, whether that is the write or not. Nothing counts twice.
func TestWritesThatFail(t *testing.T) {
	errStore := errors.New("the disk is full")
	for name, c := range map[string]struct {
		before, after error
		want          int
	}{
		"without effect": {before: errStore, want: 1}, "all answers are lost": {after: errStore, want: 3},
		"in conflict": {before: persistence.ErrConflict, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newShelf()
				typ := sumType()
				var failures []sharding.Failure
				typ.OnEvent = eventstest.On(func(f sharding.Failure) { failures = append(failures, f) })
				_, nodes := cluster(t, 1)
				g := start(t, s.on(typ, sums()), nodes...)[0]
				wants(t, g, "a", add{N: 1}, 1)
				attempts := int64(1000)
				if c.before != nil && c.before != errStore { // an answer of the store is not asked for again
					attempts = 1
				}
				fail := times(attempts, c.after)
				s.hook(only("append", times(attempts, c.before)), func(op string, _ protocol.EntityID) error {
					if op == "append" {
						return fail(t.Context())
					}
					return nil
				})
				began := time.Now()
				if got := <-asks(t, g, "a", add{N: 2}); !errors.Is(got.err, sharding.ErrHandler) ||
					!strings.Contains(got.err.Error(), `sum "a": append number 2 ("added", version 1)`) {
					t.Error(got.n, got.err)
				}
				s.hook(nil, nil)
				wants(t, g, "a", get{}, c.want)
				if d := time.Since(began); d < 100*time.Millisecond {
					t.Errorf("started again after %v, without the backoff", d)
				}
				wants(t, g, "a", add{N: 10}, c.want+10)
				synctest.Wait()
				if len(failures) != 1 || failures[0].Directive != sharding.Restart {
					t.Error(failures)
				}
				f, is := errors.AsType[*Failure](failures[0].Err)
				if !is || f.Entity != "a" || f.Seq != 2 ||
					!errors.Is(f, cmp.Or(c.before, c.after)) {
					t.Error(f)
				}
			})
		})
	}
}

// A write whose answer is lost is repeated, and counts once. The entity does not notice.
func TestWritesAreRepeated(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		g := single(t, s, sums())
		wants(t, g, "a", add{N: 1}, 1)
		lose := times(1, errors.New("the answer is lost"))
		s.hook(nil, func(op string, _ protocol.EntityID) error {
			if op == "append" {
				return lose(t.Context())
			}
			return nil
		})
		wants(t, g, "a", add{N: 2}, 3)
		s.of("a", func(x *history) {
			if x.last() != 2 {
				t.Errorf("%d events are stored, want 2", x.last())
			}
		})
		if n := s.called("append"); n != 3 {
			t.Errorf("%d appends, want 1 and 2", n)
		}
	})
}

// Whatever the type's Supervision says, an incarnation that does not know its state is not resumed.
func TestResumeIsARestart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		typ := sumType()
		typ.Supervision.Decide = sharding.Always(sharding.Resume)
		_, nodes := cluster(t, 1)
		g := start(t, s.on(typ, sums()), nodes...)[0]
		wants(t, g, "a", add{N: 1}, 1)
		s.hook(nil, func(op string, _ protocol.EntityID) error {
			if op == "append" {
				return persistence.ErrConflict // after the effect: nothing is known
			}
			return nil
		})
		if got := <-asks(t, g, "a", add{N: 2}); !errors.Is(got.err, sharding.ErrHandler) {
			t.Error(got)
		}
		s.hook(nil, nil)
		wants(t, g, "a", get{}, 3)
		loads := s.called("load")
		if got := <-asks(t, g, "a", add{N: 0}); !errors.Is(got.err, sharding.ErrHandler) { // a failure of Handle alone
			t.Error(got)
		}
		wants(t, g, "a", get{}, 3)
		if s.called("load") != loads {
			t.Error("a failure of Handle has started the entity again")
		}
	})
}

// An entity whose store hangs waits, and fails when that takes too long. Nothing else waits, and no
// worker. When the store is back, so are the entities.
func TestAStoreThatHangs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		typ := sumType()
		typ.Limits.Workers = 1
		typ.Timeouts.Ask = time.Hour
		_, nodes := cluster(t, 1)
		g := start(t, s.on(typ, sums()), nodes...)[0]
		hang := map[string]bool{} // of other shards than z
		for i := 0; len(hang) < 20; i++ {
			if id := fmt.Sprint(i); g.ShardOf(id) != g.ShardOf("z") {
				hang[id] = true
			}
		}
		s.hook(func(ctx context.Context, op string, id protocol.EntityID) error {
			if op != "append" || !hang[string(id)] {
				return nil
			}
			select {
			case <-open:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, nil)
		var waiting []<-chan answer
		for id := range hang {
			waiting = append(waiting, asks(t, g, id, add{N: 5}))
		}
		<-time.After(500 * time.Millisecond)
		wants(t, g, "z", add{N: 1}, 1)
		if n := g.Stats().Workers; n > 1 {
			t.Errorf("%d workers", n)
		}
		for _, w := range waiting {
			if got := <-w; !errors.Is(got.err, sharding.ErrHandler) {
				t.Error(got.n, got.err)
			}
		}
		synctest.Wait() // the calls to the store have ended; one that goes on may still store what was given up
		close(open)
		for id := range hang {
			wants(t, g, id, add{N: 7}, 7)
		}
	})
}

// With the defaults of all settings, an asker hears of the store, and of no time-out: whether it fails
// or hangs, and whatever Timeouts.Ask is.
func TestAskersHearOfTheStore(t *testing.T) {
	for name, ask := range map[string]time.Duration{"default": 0, "short": 4 * time.Second, "long": time.Minute} {
		for how, act := range map[string]func(ctx context.Context) error{
			"fails": func(context.Context) error { return errors.New("the disk is full") },
			"hangs": func(ctx context.Context) error { <-ctx.Done(); return errors.New("the disk is full") },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					s, b, typ := newShelf(), sums(), sumType()
					b.Calls, typ.Timeouts.Ask = batch.Settings{}, ask
					_, nodes := cluster(t, 1)
					g := start(t, s.on(typ, b), nodes...)[0]
					wants(t, g, "a", add{N: 1}, 1)
					s.hook(only("append", act), nil)
					got := <-asks(t, g, "a", add{N: 2})
					text := fmt.Sprint(got.err)
					if !errors.Is(got.err, sharding.ErrHandler) || !strings.Contains(text, "the disk is full") {
						t.Errorf("the asker hears of %v", got.err)
					}
				})
			})
		}
	}
}

// An Ask that ends before the store is given up names what its entity waits for, and what the store
// says while it fails. So does the event that a wait lasts.
func TestShortAsksHearOfTheStore(t *testing.T) {
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return errors.New("the disk is full") }
	for _, c := range []struct {
		op    string
		act   func(context.Context) error
		wants string
	}{
		{"append", hangs, `for 1s for "append" of its journal *eventsourced.shelf`},
		{"append", fails, `for "append" of its journal *eventsourced.shelf, which fails: the disk is full`},
		{"load", hangs, `for 1s for "load" of its journal *eventsourced.shelf`},
		{"snapshot", hangs, `for 1s for "load snapshot" of its snapshots *eventsourced.shelf`},
	} {
		t.Run(c.wants, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s, b, typ := newShelf(), sums(), sumType()
				b.Calls, b.Snapshot.Every = batch.Settings{}, 100
				typ.Timeouts.HandlerSlow = 2 * time.Second
				var mu sync.Mutex
				var events []string
				typ.OnEvent = eventstest.On(func(e sharding.Event) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, fmt.Sprint(e))
				})
				_, nodes := cluster(t, 1)
				g := start(t, s.on(typ, b), nodes...)[0]
				s.hook(only(c.op, c.act), nil)
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := sharding.Ask(short, g.Ref("a"), add{N: 2})
				if !errors.Is(err, sharding.ErrTimeout) || !strings.Contains(fmt.Sprint(err), c.wants) {
					t.Errorf("the asker hears %v", err)
				}
				<-time.After(3 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				_, what, _ := strings.Cut(c.wants, `for "`)
				if !slices.ContainsFunc(events, func(e string) bool {
					return strings.Contains(e, "result-awaited") && strings.Contains(strings.ReplaceAll(e, `\`, ""), what)
				}) {
					t.Errorf("the events are %v", events)
				}
			})
		})
	}
}

// An event that cannot be applied is not stored, nor is what came with it.
func TestAnEventThatApplyPanicsAtIsNotStored(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		g := single(t, s, sums())
		wants(t, g, "a", add{N: 1}, 1)
		got := <-asks(t, g, "a", spoil{})
		if !errors.Is(got.err, sharding.ErrHandler) ||
			!strings.Contains(got.err.Error(), `apply number 3 ("evil", version 1): panic: an evil event`) {
			t.Error(got.err)
		}
		s.of("a", func(x *history) {
			if x.last() != 1 {
				t.Errorf("%d events are stored, want the first one", x.last())
			}
		})
		wants(t, g, "a", get{}, 1)
	})
}

// The events of one message are stored together, and the next message's come behind all of them.
func TestSeveralEventsOfAMessage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Handle = func(c *sharding.Context[command], x sum, m command) (effect, error) {
			fx, err := handle(c, x, m)
			if m, is := m.(add); is {
				fx = fx.Persist(added{m.N}, added{m.N})
			}
			return fx, err
		}
		g := single(t, s, b)
		wants(t, g, "a", add{N: 1}, 3)
		wants(t, g, "a", add{N: 10}, 33)
		s.of("a", func(x *history) {
			for i, e := range x.events {
				if e.Seq != uint64(i)+1 {
					t.Errorf("event %d has the number %d", i+1, e.Seq)
				}
			}
			if len(x.events) != 6 || len(x.writes) != 2 {
				t.Errorf("%d events in %d writes, want 6 in 2", len(x.events), len(x.writes))
			}
		})
		passivate(t, g, "a")
		wants(t, g, "a", get{}, 33)
	})
}

// An Effect does not change: two that are made of one have nothing in common but that.
func TestEffectsDoNotChange(t *testing.T) {
	var said []string
	say := func(text string) func(*sharding.Context[command], sum) error {
		return func(*sharding.Context[command], sum) error {
			said = append(said, text)
			return nil
		}
	}
	base := effect{}
	for range 3 { // so that its slices have room
		base = base.Persist(added{0}).Then(say("base"))
	}
	a, b := base.Persist(added{1}).Then(say("a")), base.Persist(added{2}).Then(say("b"))
	if len(a.events) != 4 || a.events[3] != (added{1}) || b.events[3] != (added{2}) || len(base.events) != 3 {
		t.Error(a.events, b.events)
	}
	if err := errors.Join(a.finish(nil, sum{}), b.finish(nil, sum{})); err != nil ||
		!slices.Equal(said, []string{"base", "base", "base", "a", "base", "base", "base", "b"}) {
		t.Error(said, err)
	}
}

// A handler that awaits and persists is a failure, of which the asker hears. Nothing is stored, and
// the next incarnation has what is.
func TestAwaitAndPersist(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Handle = func(c *sharding.Context[command], x sum, m command) (effect, error) {
			if m == (command)(add{N: 7}) {
				if _, err := c.Await(); err != nil {
					return effect{}, err
				}
			}
			return handle(c, x, m)
		}
		g := single(t, s, b)
		wants(t, g, "a", add{N: 1}, 1)
		got := <-asks(t, g, "a", add{N: 7})
		if !errors.Is(got.err, sharding.ErrHandler) || !strings.Contains(got.err.Error(), "append number 2") ||
			!strings.Contains(got.err.Error(), sharding.ErrAwaiting.Error()) {
			t.Error(got)
		}
		wants(t, g, "a", get{}, 1)
		if n := s.called("append"); n != 1 {
			t.Errorf("%d appends, want that of the first message", n)
		}
	})
}

// Tags and types stand with the events. Tags that a store would refuse are refused before.
func TestTags(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Tags = func(id string, e event) []string {
			switch e := e.(added); e.N {
			case 1:
				return []string{"odd", id, "odd"}
			case 2:
				return make([]string, 1)
			case 3:
				var many []string
				for i := range persistence.TagsMax + 1 {
					many = append(many, fmt.Sprint(i))
				}
				return many
			}
			return nil
		}
		g := single(t, s, b)
		<-time.After(1234 * time.Nanosecond) // so that a time is no whole microsecond by itself
		for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: true} {
			if got := <-asks(t, g, "a", add{N: n}); (got.err == nil) != want {
				t.Error(n, got)
			}
		}
		s.of("a", func(x *history) {
			if x.last() != 2 {
				t.Fatal(x.events)
			}
			for _, e := range x.events {
				tagged := slices.Equal(e.Tags, []string{"a", "odd"})
				timed := !e.At.IsZero() && e.At.Nanosecond()%1000 == 0
				if e.Name != "added" || e.Version != 1 || !timed || !tagged && len(e.Tags) > 0 {
					t.Error(e)
				}
			}
		})
	})
}
