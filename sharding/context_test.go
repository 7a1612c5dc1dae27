package sharding

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// keepsContexts makes entities that send each Context that they are given.
func keepsContexts(typ EntityType[message_]) (EntityType[message_], <-chan *Context[message_]) {
	given := make(chan *Context[message_], 10)
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			given <- c
			if _, ok := m.(total); ok {
				return c.Reply(1)
			}
			return nil
		})
	}
	return typ, given
}

// A Context has no effect after its handler has returned, and says so, also when its incarnation is
// over. As a context.Context it ends with the incarnation.
func TestContextAfterItsHandler(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ, given := keepsContexts(cartType(&cartLog{}))
		g, _ := localRegion(t, typ)
		refused := func(when string, c *Context[message_]) {
			synctest.Wait()
			_, responder := c.Responder()
			for i, err := range []error{
				c.Reply(1), c.Fail(errors.New("no")), responder, c.Tell("b", addItem{}), c.Post(1, "b", nil),
				c.Passivate(), c.SetReceiveTimeout(time.Second, addItem{}),
			} {
				if err != ErrHandlerReturned {
					t.Errorf("%s: effect %d: %v", when, i, err)
				}
			}
		}
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		c := <-given
		refused("between messages", c)
		if c.Err() != nil || c.ID() != "a" {
			t.Errorf("the incarnation of %q goes on, and its Context says %v", c.ID(), c.Err())
		}
		derived, cancel := context.WithCancel(c)
		defer cancel()
		if err := g.Passivate(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		refused("after the incarnation", c)
		if derived.Err() == nil || !errors.Is(context.Cause(derived), ErrStopped) {
			t.Errorf("the incarnation is over, and a derived context says %v", context.Cause(derived))
		}
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		next := <-given // nothing asks for its context before it has ended
		if next == c {
			t.Error("two incarnations have one Context")
		}
		if err := g.Passivate(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		done, again := next.Done(), next.Done()
		if next.Err() == nil || done != again || !errors.Is(context.Cause(next), ErrStopped) {
			t.Errorf("the next incarnation is over, and its Context says %v", next.Err())
		}
	})
}

// An incarnation that has seen the loss of the lease goes on with another Context when it is back:
// one that has ended stays so.
func TestContextAfterTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ, given := keepsContexts(cartType(&cartLog{}))
		g, lease := localRegion(t, typ)
		tell := func() *Context[message_] {
			if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
				t.Fatal(err)
			}
			return <-given
		}
		first := tell()
		if second := tell(); second != first || first.Err() != nil {
			t.Errorf("another Context with a lease that was never lost, or %v", first.Err())
		}
		lease.lost.Store(true)
		g.plane.Entities.Lease.Changed(false)
		synctest.Wait()
		if !errors.Is(context.Cause(first), ErrNoLease) {
			t.Errorf("the lease is lost, and the Context says %v", context.Cause(first))
		}
		lease.lost.Store(false)
		g.plane.Entities.Lease.Changed(true)
		third := tell()
		if third == first || third.Err() != nil || first.Err() == nil || tell() != third {
			t.Errorf("the lease is back: %v; before: %v", third.Err(), first.Err())
		}
		if err := third.Self().Tell(third, addItem{}); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); <-given != third {
			t.Error("another Context without another loss")
		}
	})
}
