package delivery_test

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// able is an entity with all that sharding looks for in one.
type able struct {
	*walker
	stopped chan string
	carried chan string
}

func (a *able) Stop(c *sharding.Context[message]) error {
	a.stopped <- c.ID()
	return nil
}

func (a *able) Carried(_ *sharding.Context[message], body []byte) error {
	a.carried <- string(body)
	return nil
}

var (
	_ sharding.Stopper[message] = (*able)(nil)
	_ sharding.Carrier[message] = (*able)(nil)
)

// What an entity can do beside Receive it still can when its type consumes.
func TestConsumeHidesNothing(t *testing.T) {
	stopped, carried := make(chan string, 1), make(chan string, 1)
	typ := newHistory().entityType(t)
	typ.New = func(*sharding.Context[message]) sharding.Entity[message] {
		return &able{&walker{l: newHistory(), last: map[string]int{}}, stopped, carried}
	}
	typ, err := delivery.Consume(typ, delivery.ConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	g := region(t, ddatatest.Start(t, "backend")[0], typ)
	ctx := within(t, 10*time.Second)
	heard := func(from chan string, want string) {
		t.Helper()
		select {
		case got := <-from:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Errorf("%q never came", want)
		}
	}
	if err := g.SendRaw("e", []byte("of another protocol")); err != nil {
		t.Fatal(err)
	}
	heard(carried, "of another protocol")
	p := producer(t, g, delivery.Config{ID: "p"})
	if err := p.Deliver(ctx, "e", step{"p", 1}); err != nil {
		t.Fatal(err)
	}
	if err := g.Passivate(ctx, "e"); err != nil {
		t.Fatal(err)
	}
	heard(stopped, "e")
	if len(carried) > 0 {
		t.Errorf("the entity was handed what is the consumer's: %q", <-carried)
	}
}
