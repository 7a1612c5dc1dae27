package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
)

// saver is a cart that has something to do before it ends.
type saver struct {
	Cart
	saved chan<- string
}

// Stop is called after the last message.
func (s *saver) Stop(c *sharding.Context[Command]) error {
	s.saved <- fmt.Sprintf("%s with %d items", c.ID(), s.count)
	return nil
}

// An entity that ends in order (by passivation, by a move, with its node) is stopped first.
func ExampleStopper() {
	var _ sharding.Stopper[Command] = &saver{}

	saved := make(chan string, 1)
	shop(func(t *sharding.EntityType[Command]) {
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return &saver{saved: saved} }
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
			return err
		}
		if err := carts.Passivate(ctx, "cart-42"); err != nil {
			return err
		}
		fmt.Println(<-saved)
		return nil
	})
	// Output: cart-42 with 2 items
}

// patient is a cart that says its total when the next item has come, or after a while.
type patient struct {
	count int
	asker sharding.Responder
	late  *sharding.Timer
}

func (p *patient) Receive(c *sharding.Context[Command], m Command) (err error) {
	switch m := m.(type) {
	case Total:
		if p.asker, err = c.Responder(); err == nil { // the question stays open when the handler returns
			p.late, err = c.After(10*time.Millisecond, AddItem{})
		}
	case AddItem:
		p.count += m.Count
		if p.late != nil {
			p.late.Stop()
			p.late = nil
			err = p.asker.Reply(p.count)
		}
	}
	return err
}

// A question is answered later than its handler returns. A timer bounds the wait.
func ExampleResponder() {
	shop(func(t *sharding.EntityType[Command]) {
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return &patient{} }
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
			return err
		}
		total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{}) // no item comes
		fmt.Println(total)
		return err
	})
	// Output: 2
}

// pricer asks a service for the price of what is put into the cart.
type pricer struct {
	price func() int // a call of another service, which takes time
	sum   int
}

func (p *pricer) Receive(c *sharding.Context[Command], m Command) error {
	switch m.(type) {
	case AddItem:
		rest, err := c.Await()
		if err != nil {
			return err
		}
		go func() {
			cents := p.price() // no worker waits here
			rest.Continue(func(*sharding.Context[Command]) error {
				p.sum += cents
				return nil
			})
		}()
	case Total:
		return c.Reply(p.sum)
	}
	return nil
}

// A handler waits for a result without a goroutine of the type's pool. The next message is handled after
// the rest.
func ExampleAwaited() {
	shop(func(t *sharding.EntityType[Command]) {
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
			return &pricer{price: func() int { return 250 }}
		}
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 1}); err != nil {
			return err
		}
		cents, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
		fmt.Println(cents)
		return err
	})
	// Output: 250
}

// lister takes lines of text beside its messages.
type lister struct{ Cart }

func (l *lister) Carried(_ *sharding.Context[Command], body []byte) error {
	items := strings.Fields(string(body))
	if len(items) == 0 {
		return sharding.Undecodable{Cause: errors.New("no item")} // a counted drop, and no failure
	}
	l.count += len(items)
	return nil
}

// A protocol of one's own sends bytes to entities, in order with messages.
func ExampleCarrier() {
	var _ sharding.Carrier[Command] = &lister{}

	shop(func(t *sharding.EntityType[Command]) {
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return &lister{} }
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.SendRaw("cart-42", []byte("apple pear")); err != nil {
			return err
		}
		total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
		fmt.Println(total)
		return err
	})
	// Output: 2
}

// fragile panics when something is put into it.
type fragile struct{}

func (fragile) Receive(_ *sharding.Context[Command], m Command) error {
	if _, ok := m.(AddItem); ok {
		panic("the bottom is out")
	}
	return nil
}

// A handler that fails or panics is told to OnEvent, with what was decided about its entity.
func ExamplePanicError() {
	failed := make(chan sharding.Failure, 1)
	shop(func(t *sharding.EntityType[Command]) {
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return fragile{} }
		t.OnEvent = func(e events.Event) {
			if f, ok := e.(sharding.Failure); ok {
				failed <- f
			}
		}
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.Tell(ctx, "cart-42", AddItem{"anvil", 1}); err != nil {
			return err
		}
		f := <-failed
		var p *sharding.PanicError
		fmt.Println(f.ID, f.Directive, errors.As(f.Err, &p))
		fmt.Println(p.Value)
		return nil
	})
	// Output:
	// cart-42 stop true
	// the bottom is out
}
