package sharding

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

func TestSupervision(t *testing.T) {
	for _, c := range []struct {
		how   Directive
		total int // after 1, a crash, and 2
		made  int64
		pause time.Duration
	}{
		{Resume, 3, 1, 0},
		{Stop, 2, 2, 0},
		{Restart, 2, 2, time.Second},
		{Escalate, 2, 2, 0},
	} {
		t.Run(c.how.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				log := &cartLog{}
				typ := cartType(log)
				typ.Supervision = Supervision{Decide: Always(c.how), Backoff: time.Second}
				var failures []Failure
				typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
				g, _ := localRegion(t, typ)
				began := time.Now()
				for _, m := range []message_{addItem{"x", 1}, crash{}, addItem{"y", 2}} {
					if err := g.Tell(t.Context(), "a", m); err != nil {
						t.Fatal(err)
					}
				}
				n, err := Ask(t.Context(), g.Ref("a"), total{})
				if err != nil || n != c.total || log.made.Load() != c.made {
					t.Errorf("total %d, %v, made %d", n, err, log.made.Load())
				}
				if took := time.Since(began); took != c.pause {
					t.Errorf("it took %v, want %v", took, c.pause)
				}
				if len(failures) != 1 || failures[0].Directive != c.how {
					t.Fatalf("failures %v", failures)
				}
				p, ok := errors.AsType[*PanicError](failures[0].Err)
				if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "fake_test.go") {
					t.Errorf("%v has no panic with its stack", failures[0])
				}
			})
		})
	}
}

// A failure that is escalated ends the other incarnations of its shard, in order; what waits for
// them is for the next ones. Other shards go on.
func TestEscalationEndsTheShard(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		typ := cartType(log)
		typ.Shards, typ.Supervision.Decide = 2, Always(Escalate)
		typ.Limits.Workers = 2 // one is kept busy
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Minute)
		shard, other := idsOf(0, 2, 4), idsOf(1, 2, 1)[0]
		failing, idle, busy, unheard := shard[0], shard[1], shard[2], shard[3]
		for _, id := range []string{failing, idle, busy, other} {
			if err := g.Tell(ctx, id, addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		works := newGate()
		for _, m := range []message_{block{works}, addItem{"y", 2}} {
			if err := g.Tell(ctx, busy, m); err != nil {
				t.Fatal(err)
			}
		}
		<-works.entered
		if err := g.Tell(ctx, failing, crash{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if log.stopped.Load() != 1 {
			t.Errorf("%d have stopped while one handler runs, want the idle one", log.stopped.Load())
		}
		close(works.open)
		// order: each is asked by itself
		for id, want := range map[string]int{failing: 0, idle: 0, busy: 2, unheard: 0, other: 1} {
			if n, err := Ask(ctx, g.Ref(id), total{}); err != nil || n != want {
				t.Errorf("%s: %d, %v, want %d", id, n, err, want)
			}
		}
		if log.stopped.Load() != 2 || log.made.Load() != 8 || len(g.Stats().Drops) > 0 {
			t.Errorf("%d stopped, %d made, %v", log.stopped.Load(), log.made.Load(), g.Stats().Drops)
		}
	})
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Second, BackoffMax: 4 * time.Second}
		g, _ := localRegion(t, typ)
		began := time.Now()
		for range 4 {
			if _, err := Ask(t.Context(), g.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
				t.Fatal(err)
			}
		}
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 11*time.Second { // 1 + 2 + 4 + 4
			t.Errorf("%v", took)
		}
		if _, err := Ask(t.Context(), g.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		began = time.Now()
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || time.Since(began) != time.Second {
			t.Errorf("after a success the backoff begins anew: %v %v", time.Since(began), err)
		}
	})
}

// A backoff lasts for as long as it should, also if the entity has failed again within the one
// before, as it does when its shard drains.
func TestAnEarlierBackoffEndsNoLaterOne(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: 2 * time.Second, BackoffMax: time.Minute}
		g, _ := localRegion(t, typ)
		if _, err := Ask(t.Context(), g.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		if err := g.Tell(t.Context(), "a", crash{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		s := g.plane.Routes.Hosted[g.plane.Routes.ShardOf("a")].Load()
		drained := make(chan struct{})
		s.Drain(func() { close(drained) })
		<-drained // it has failed for the second time
		s.Resume()
		began := time.Now()
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// A question that gets no answer because its entity waits for a restart says so, with the failure.
func TestAskDuringABackoff(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Minute}
		g, _ := localRegion(t, typ)
		_, failed := Ask(t.Context(), g.Ref("a"), crash{})
		_, err := Ask(within(t, time.Second), g.Ref("a"), total{})
		const want = `Cart "a" in shard 11 on this node: it waits for its restart, because it has failed: panic: boom`
		if !errors.Is(failed, ErrHandler) || !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\n%v does not say %q", failed, err, want)
		}
		<-time.After(time.Minute)
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Error(err)
		}
	})
}

func TestNewThatPanics(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] { panic("no") }
	g, _ := localRegion(t, typ)
	if _, err := Ask(t.Context(), g.Ref("a"), total{}); !errors.Is(err, ErrHandler) {
		t.Error(err)
	}
}

func TestReceiveTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		typ := cartType(&cartLog{})
		typ.New = func(c *Context[message_]) Entity[message_] {
			c.SetReceiveTimeout(time.Minute, silent{})
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(silent); ok {
					at = append(at, time.Since(began))
					if len(at) == 3 {
						c.SetReceiveTimeout(0, nil)
					}
				}
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		for range 2 {
			if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
				t.Fatal(err)
			}
			<-time.After(40 * time.Second)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if want := "[1m40s 2m40s 3m40s]"; fmt.Sprint(at) != want {
			t.Errorf("%v, want %s", at, want)
		}
	})
}

func TestIdlePassivation(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		log := &cartLog{}
		typ := cartType(log)
		typ.Passivation.Strategy.IdleTimeout = time.Minute
		g, _ := localRegion(t, typ)
		g.plane.Entities.StartScans()
		tell := func(id string) {
			if err := g.Tell(t.Context(), id, addItem{}); err != nil {
				t.Fatal(err)
			}
		}
		tell("idle")
		for range 10 {
			tell("busy")
			<-time.After(30 * time.Second)
		}
		if log.made.Load() != 2 || log.stopped.Load() != 1 {
			t.Errorf("made %d, stopped %d", log.made.Load(), log.stopped.Load())
		}
	})
}

// A running handler cannot be stopped when the lease ends, but its context is, and no effect of it
// happens.
func TestEffectsNeedTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var got []error
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(total); !ok {
					return nil
				}
				if _, err := c.Fence(); err != nil {
					t.Error(err)
				}
				<-c.Done()
				_, fence := c.Fence()
				_, ask := Ask(c, c.Region().Ref("b"), total{})
				got = append(got, context.Cause(c), fence, ask, c.Tell("b", addItem{}),
					c.Region().Tell(c, "b", addItem{}), c.Reply(1))
				return nil
			})
		}
		g, lease := localRegion(t, typ)
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-time.After(time.Second)
			lease.lost.Store(true)
			g.plane.Entities.Lease.Changed(false)
			<-time.After(time.Second)
			lease.lost.Store(false)
			g.plane.Entities.Lease.Changed(true)
		}()
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); !errors.Is(err, ErrNoLease) {
			t.Errorf("asked a handler that outlived the lease: %v", err)
		}
		<-done
		for i, err := range got {
			if !errors.Is(err, ErrNoLease) {
				t.Errorf("effect %d: %v", i, err)
			}
		}
		if len(got) != 6 {
			t.Errorf("%d effects", len(got))
		}
	})
}

func TestReplyTypes(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			if _, ok := m.(total); ok {
				return c.Reply("a string")
			}
			if err := c.Reply(1); !errors.Is(err, ErrNotAsked) {
				t.Errorf("reply to a tell: %v", err)
			}
			return nil
		})
	}
	typ.Supervision.Decide = Always(Resume)
	g, _ := localRegion(t, typ)
	if _, err := Ask(t.Context(), g.Ref("a"), total{}); !errors.Is(err, ErrReplyType) ||
		strings.Count(err.Error(), ErrReplyType.Error()) != 1 {
		t.Error(err)
	}
	if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
		t.Fatal(err)
	}
}

func TestLater(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			l, err := c.Responder()
			if err != nil {
				return err
			}
			go func() { _ = l.Reply(42) }()
			return nil
		})
	}
	g, _ := localRegion(t, typ)
	if n, err := Ask(t.Context(), g.Ref("a"), total{}); n != 42 || err != nil {
		t.Error(n, err)
	}
}

// A handler that ends its goroutine (as testing.T.FailNow does) costs a worker, which is replaced.
func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Limits.Workers = 1
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			if _, ok := m.(crash); ok {
				runtime.Goexit()
			}
			return c.Reply(1)
		})
	}
	g, _ := localRegion(t, typ)
	for range 3 {
		if _, err := Ask(t.Context(), g.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
	}
}

// The receive timeout is the incarnation's, and "no message for so long" is judged when its turn
// has come.
func TestReceiveTimeoutBehindOtherMessages(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var timeouts int
		stuck := newGate()
		typ := cartType(&cartLog{})
		typ.New = func(c *Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				switch m := m.(type) {
				case silent:
					timeouts++
				case addItem:
					c.SetReceiveTimeout(time.Minute, silent{})
				case block:
					m.gate.entered <- struct{}{}
					<-m.gate.open
				case failing:
					return errors.New("no luck")
				}
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		tell := func(m message_) {
			if err := g.Tell(t.Context(), "a", m); err != nil {
				t.Error(err)
			}
		}
		tell(addItem{})
		tell(block{stuck})
		<-time.After(90 * time.Second) // the timeout's message waits behind the handler
		tell(echo{})
		stuck.open <- struct{}{}
		synctest.Wait()
		if timeouts != 0 {
			t.Error("a timeout right behind a message")
		}
		tell(block{stuck})
		<-time.After(90 * time.Second)
		tell(failing{})
		close(stuck.open)
		<-time.After(time.Hour)
		if timeouts != 0 {
			t.Error("the timeout of an incarnation came to the next")
		}
	})
}

// An entity that waits for its restart does not hold up its shard's hand-off: what waits for it is
// handled at once, by a new incarnation for each message that fails. Had it moved on, what waits on
// other nodes could overtake it.
func TestBackoffDoesNotHoldUpTheMove(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		typ := cartType(log)
		typ.Shards, typ.Supervision = 1, Supervision{Decide: Always(Restart), Backoff: time.Hour}
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, typ)
		w.install()
		rb := start(b, typ)
		ctx := within(t, 24*time.Hour)
		if _, err := Ask(ctx, ra.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		for _, m := range []message_{addItem{"x", 1}, failing{}, addItem{"x", 1}, failing{}, addItem{"x", 1}} {
			if err := ra.Tell(ctx, "a", m); err != nil {
				t.Fatal(err)
			}
		}
		answered := make(chan error, 1)
		go func() {
			n, err := Ask(ctx, ra.Ref("a"), total{})
			if err == nil && n != 1 {
				err = fmt.Errorf("total %d", n)
			}
			answered <- err
		}()
		<-time.After(time.Second)
		began := time.Now()
		if err := w.handsOver(a, 30*time.Second); err != nil {
			t.Error(err)
		}
		if err := <-answered; err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if n, err := Ask(ctx, rb.Ref("a"), total{}); err != nil || n != 0 {
			t.Errorf("after the move %d, %v", n, err)
		}
		if made := log.made.Load(); made < 4 { // the first one, one after each failure, and that of the new home
			t.Errorf("%d incarnations", made)
		}
	})
}

func TestPassivateNeedsTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		log := &cartLog{}
		typ := cartType(log)
		stuck := newGate()
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				stuck.entered <- struct{}{}
				<-stuck.open
				c.Passivate()
				return nil
			})
		}
		g, lease := localRegion(t, typ)
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		lease.lost.Store(true)
		close(stuck.open)
		synctest.Wait()
		lease.lost.Store(false)
		g.plane.Entities.Lease.Changed(true)
		synctest.Wait()
		if s := g.Stats(); s.Entities != 1 ||
			!g.plane.Routes.Slots[g.plane.Routes.ShardOf("a")].Load().Local.Find("a").State().Started {
			t.Errorf("%+v", s)
		}
	})
}

// Whenever the lease is away for a moment, in which no handler may begin, an entity that ends in
// order has its Stop, once.
func TestStopWaitsForTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		log := &cartLog{}
		g, lease := localRegion(t, cartType(log))
		s := g.plane.Routes.Slots[g.plane.Routes.ShardOf("a")].Load().Local
		for look := range int64(10) {
			for name, stop := range map[string]func(*entities.Entity){
				"asked":  func(e *entities.Entity) { s.Command(e, mailbox.StopNow) },
				"forced": (*entities.Entity).Force,
			} {
				log.made.Store(0)
				log.stopped.Store(0)
				stuck := newGate()
				if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
					t.Fatal(err)
				}
				<-stuck.entered
				stop(s.Find("a"))
				lease.lapse.Store(look)
				close(stuck.open)
				synctest.Wait()
				if lease.lapse.Store(0); log.made.Load() != 1 || log.stopped.Load() != 1 {
					t.Errorf("%s, the lease is away at look %d: %d made, %d stopped",
						name, look, log.made.Load(), log.stopped.Load())
				}
			}
		}
		stuck := newGate()
		if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		log.stopped.Store(0)
		s.Find("a").Force()
		lease.lost.Store(true)
		close(stuck.open)
		if synctest.Wait(); log.stopped.Load() != 0 {
			t.Error("Stop was called without the lease")
		}
		lease.lost.Store(false)
		g.plane.Entities.Lease.Changed(true)
		if synctest.Wait(); log.stopped.Load() != 1 || s.Find("a") != nil {
			t.Errorf("with the lease back Stop was called %d times", log.stopped.Load())
		}
	})
}
