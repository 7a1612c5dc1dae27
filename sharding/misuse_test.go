package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// A context that has ended sends nothing, or what is told to an entity on this node would arrive,
// and what is told to one elsewhere would not.
func TestAnEndedContextSendsNothing(t *testing.T) {
	log := &cartLog{}
	g, _ := localRegion(t, cartType(log))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	ref := g.Ref("a")
	for name, send := range map[string]func() error{
		"Tell":     func() error { return g.Tell(over, "a", addItem{"x", 1}) },
		"Ref.Tell": func() error { return ref.Tell(over, addItem{"x", 1}) },
		"Ask":      func() error { _, err := Ask(over, ref, total{}); return err },
	} {
		if err := send(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Ask(t.Context(), g.Ref("b"), total{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := log.made.Load(); n != 1 {
		t.Errorf("%d entities were made, for b alone", n)
	}
}

// A caller that asks an entity that cannot be made hears why.
func TestAFailureOfNewReachesTheAsker(t *testing.T) {
	for want, maker := range map[string]func(*Context[message_]) Entity[message_]{
		"in New: panic: no database":         func(*Context[message_]) Entity[message_] { panic("no database") },
		"in New: panic: it has returned nil": func(*Context[message_]) Entity[message_] { return nil },
	} {
		for _, s := range []Directive{Stop, Resume} {
			seen := make(chan string, 100)
			typ := cartType(&cartLog{})
			typ.New, typ.Supervision.Decide = maker, Always(s)
			typ.OnEvent = onEvent(func(f Failure) { seen <- f.Err.Error() })
			g, _ := localRegion(t, typ)
			_, err := Ask(t.Context(), g.Ref("a"), total{})
			if !errors.Is(err, ErrHandler) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v: %v, want %s", s, err, want)
			}
			if said := <-seen; said != want {
				t.Errorf("%v: OnEvent heard %q, want %q", s, said, want)
			}
		}
	}
}

// An entity that is busy for longer than its receive timeout gets one when it is done with that,
// not one for each time it would have elapsed.
func TestReceiveTimeoutsDoNotPileUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		typ := cartType(&cartLog{})
		typ.Limits.MailboxMax = 10
		typ.New = func(c *Context[message_]) Entity[message_] {
			c.SetReceiveTimeout(time.Second, silent{})
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(silent); ok {
					at = append(at, time.Since(began))
					<-time.After(100 * time.Second) // it takes longer than the timeout
					c.SetReceiveTimeout(0, nil)
				}
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Second)
		e := g.plane.Routes.Slots[g.plane.Routes.ShardOf("a")].Load().Local.Find("a")
		if n := e.State().Waiting; n != 1 {
			t.Errorf("%d timeouts wait", n)
		}
		<-time.After(time.Hour)
		if want := "[1s]"; fmt.Sprint(at) != want {
			t.Errorf("%v, want %s", at, want)
		}
	})
}

// What is left of a receive timeout when its incarnation ends wakes no other one.
func TestAReceiveTimeoutWakesNoEntity(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Supervision.Decide = Always(Stop)
		typ.New = func(c *Context[message_]) Entity[message_] {
			c.SetReceiveTimeout(time.Second, silent{})
			return receiveFunc(func(c *Context[message_], m message_) error {
				<-time.After(10 * time.Second)
				return errors.New("too slow")
			})
		}
		g := start(w.join("backend"), typ)
		w.install()
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if s := g.Stats(); s.Entities != 0 {
			t.Errorf("%d entities, want none", s.Entities)
		}
	})
}

// Timeouts.Ask bounds a question whose context has no deadline also while there is no room for it.
func TestAskTimeoutHoldsForAFullMailbox(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Limits.MailboxMax, typ.Timeouts.Ask = 1, time.Second
		g, _ := localRegion(t, typ)
		hold := newGate()
		for range 2 {
			if err := g.Tell(t.Context(), "a", block{hold}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		began := time.Now()
		for name, ask := range map[string]func() error{
			"Ask": func() error { _, err := Ask(context.Background(), g.Ref("a"), total{}); return err },
		} {
			over := make(chan error, 1)
			go func() { over <- ask() }()
			select {
			case err := <-over:
				if !errors.Is(err, ErrTimeout) || time.Since(began) > 3*time.Second {
					t.Errorf("%s: %v after %v", name, err, time.Since(began))
				}
			case <-time.After(time.Minute):
				t.Errorf("%s hangs", name)
			}
		}
		close(hold.open)
	})
}

// A reply of a type that is not registered is an error on the asker's own node too, or it would
// work until the entity moves.
func TestAnOpenReplyMustBeRegistered(t *testing.T) {
	typ := EntityType[message_]{
		Identity: Identity{Name: "Open", Role: "backend"}, Messages: CBOR[message_](anything{}, addItem{}),
		New: func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error { return c.Reply(m.(anything).Want) })
		},
	}
	g, _ := localRegion(t, typ)
	for want, ok := range map[message_]bool{addItem{"x", 1}: true, unknown{}: false, nil: false} {
		got, err := Ask(t.Context(), g.Ref("a"), anything{Want: want})
		switch {
		case ok && (got != want || err != nil):
			t.Errorf("%v: %v, %v", want, got, err)
		case !ok && !errors.Is(err, ErrUnregisteredMessage):
			t.Errorf("%T: %v, %v", want, got, err)
		}
	}
}

// anything is answered with any message; what it wants stays on its node.
type anything struct {
	Returns[message_, message_]
	Want message_ `cbor:"-"`
}

func (anything) command() {}
