package eventsourced

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// What a producer delivers is confirmed when its events are stored, and delivered again when they
// could not be.
func TestReliableDelivery(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		typ, err := delivery.Consume(s.on(sumType(), sums()), delivery.ConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		g := nodeOf(t, typ)
		p, err := delivery.NewProducer(g, delivery.Config{ID: "p", ResendFirst: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s.hook(only("append", func(context.Context) error {
			<-open
			return nil
		}), nil)
		delivered := make(chan error, 1)
		go func() { delivered <- p.Deliver(within(t, time.Hour), "a", add{N: 1}) }()
		<-time.After(500 * time.Millisecond)
		if len(delivered) > 0 {
			t.Fatal("confirmed before the event was stored")
		}
		s.hook(only("append", times(2, errors.New("the disk is full"))), nil)
		close(open)
		if err := <-delivered; err != nil {
			t.Error(err)
		}
		if err := p.Deliver(within(t, time.Hour), "a", add{N: 2}); err != nil { // fails once
			t.Error(err)
		}
		synctest.Wait()
		all, err := sharding.Ask(t.Context(), g.Ref("a"), seen{})
		if err != nil || len(all) != 2 || all[0] != 1 || all[1] != 2 {
			t.Error(all, err)
		}
	})
}
