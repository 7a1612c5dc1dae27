package sharding

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestSupervision(t *testing.T) {
	for _, c := range []struct {
		how   Supervision
		total int // after 1, a crash, and 2
		made  int64
		pause time.Duration
	}{
		{SuperviseResume, 3, 1, 0},
		{SuperviseStop, 2, 2, 0},
		{SuperviseRestart, 2, 2, time.Second},
	} {
		t.Run(c.how.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &cartLog{}
				typ := cartType(log)
				typ.Supervision, typ.RestartBackoff = c.how, time.Second
				var failures []Failure
				typ.OnFailure = func(f Failure) { failures = append(failures, f) }
				g, _ := localRegion(t, typ)
				began := time.Now()
				for _, m := range []message_{addItem{"x", 1}, crash{}, addItem{"y", 2}} {
					if err := g.Tell(t.Context(), "a", m); err != nil {
						t.Fatal(err)
					}
				}
				n, err := Ask(t.Context(), g, "a", total{})
				if err != nil || n != c.total || log.made.Load() != c.made {
					t.Errorf("total %d, %v, made %d", n, err, log.made.Load())
				}
				if took := time.Since(began); took != c.pause {
					t.Errorf("it took %v, want %v", took, c.pause)
				}
				if len(failures) != 1 || failures[0].Outcome != c.how || len(failures[0].Stack) == 0 {
					t.Errorf("failures %v", failures)
				}
			})
		})
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Supervision, typ.RestartBackoff, typ.RestartBackoffMax = SuperviseRestart, time.Second, 4*time.Second
		g, _ := localRegion(t, typ)
		began := time.Now()
		for range 4 {
			if _, err := Ask(t.Context(), g, "a", crash{}); !errors.Is(err, ErrHandler) {
				t.Fatal(err)
			}
		}
		if _, err := Ask(t.Context(), g, "a", total{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 11*time.Second { // 1 + 2 + 4 + 4
			t.Errorf("%v", took)
		}
		if _, err := Ask(t.Context(), g, "a", crash{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		began = time.Now()
		if _, err := Ask(t.Context(), g, "a", total{}); err != nil || time.Since(began) != time.Second {
			t.Errorf("after a success the backoff begins anew: %v %v", time.Since(began), err)
		}
	})
}

func TestNewThatPanics(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] { panic("no") }
	g, _ := localRegion(t, typ)
	if _, err := Ask(t.Context(), g, "a", total{}); !errors.Is(err, ErrHandler) {
		t.Error(err)
	}
}

func TestReceiveTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
		log := &cartLog{}
		typ := cartType(log)
		typ.PassivateAfter = time.Minute
		g, _ := localRegion(t, typ)
		g.core.sweep.start()
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

// A running handler cannot be stopped when the lease ends, but its context is, and no effect of it happens.
func TestEffectsNeedTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
				<-c.Context().Done()
				_, fence := c.Fence()
				_, ask := Ask(c.Context(), c.Region(), "b", total{})
				got = append(got, context.Cause(c.Context()), fence, ask, c.Tell("b", addItem{}), c.Region().Tell(c.Context(), "b", addItem{}), c.Reply(1))
				return nil
			})
		}
		g, lease := localRegion(t, typ)
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-time.After(time.Second)
			lease.lost.Store(true)
			g.core.leaseChanged(false)
			<-time.After(time.Second)
			lease.lost.Store(false)
			g.core.leaseChanged(true)
		}()
		if _, err := Ask(t.Context(), g, "a", total{}); !errors.Is(err, ErrNoLease) {
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
	typ.Supervision = SuperviseResume
	g, _ := localRegion(t, typ)
	if _, err := Ask(t.Context(), g, "a", total{}); !errors.Is(err, ErrReplyType) {
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
			l, err := c.Later()
			if err != nil {
				return err
			}
			go func() { _ = l.Reply(42) }()
			return nil
		})
	}
	g, _ := localRegion(t, typ)
	if n, err := Ask(t.Context(), g, "a", total{}); n != 42 || err != nil {
		t.Error(n, err)
	}
}

// A handler that ends its goroutine (as testing.T.FailNow does) costs a worker, which is replaced.
func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Workers = 1
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
		if _, err := Ask(t.Context(), g, "a", crash{}); !errors.Is(err, ErrHandler) {
			t.Fatal(err)
		}
		if _, err := Ask(t.Context(), g, "a", total{}); err != nil {
			t.Fatal(err)
		}
	}
}
