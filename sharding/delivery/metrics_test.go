package delivery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// What producers and consumers report is what has happened, and what the table in the package
// comment lists. One that is closed reports nothing.
func TestMetrics(t *testing.T) {
	m := eventstest.NewMeter("coterie_delivery_", "type")
	n := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) { c.Roles, c.Meter = []string{"backend"}, m })[0]
	l := newHistory()
	l.hold = make(chan *delivery.Confirmation, 100)
	typ, err := delivery.Consume(sharding.EntityType[message]{
		Identity: sharding.Identity{Name: "Walker", Role: "backend"}, Messages: sharding.CBOR[message](step{}),
		New: func(*sharding.Context[message]) sharding.Entity[message] {
			return &late{&walker{l: l, last: map[string]int{}}}
		},
	}, delivery.ConsumerConfig{Window: 50, ProducersMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := region(t, n, typ)
	ctx := within(t, 20*time.Second)
	until := func(series string, atLeast int) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for m.Values()[series] < atLeast {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%s is %d, want %d", series, m.Values()[series], atLeast)
			}
		}
	}

	p := producer(t, g, delivery.Config{ID: "p", BufferMax: 60, ResendFirst: 50 * time.Millisecond})
	for i := 1; i <= 60; i++ {
		if err := p.Send(ctx, "e", step{"p", i}); err != nil {
			t.Fatal(err)
		}
	}
	first := <-l.hold
	until("duplicates_total", 1) // no consumer confirms, so the first is sent again
	until("window_full_total producer=p", 10)
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if err := p.Send(short, "e", step{"p", 61}); !errors.Is(err, delivery.ErrBufferFull) {
		t.Errorf("no room: %v", err)
	}
	m.Want(t, map[string]int{
		"unconfirmed_messages producer=p": 60, "buffer_full_total producer=p": 1, "confirmed_total producer=p": 0,
		"failed_total": 0, "refused_total": 0,
		"queue_failures_total producer=p": 0,
	})
	if size := m.Values()["unconfirmed_bytes producer=p"]; size < 60 || size > 60*100 {
		t.Errorf("60 messages have %d bytes", size)
	}

	queue := delivery.NewMemoryQueue()
	q := producer(t, g, delivery.Config{ID: "q", Queue: queue})
	queue.FailNext(1)
	if err := q.Send(ctx, "e", step{"q", 1}); !errors.Is(err, delivery.ErrQueue) {
		t.Errorf("the queue fails: %v", err)
	}
	if err := q.Send(ctx, "e", step{"q", 1}); err != nil {
		t.Error(err)
	}
	until("refused_total", 1) // p is the only producer that the entity has room for
	m.Want(t, map[string]int{"queue_failures_total producer=q": 1, "unconfirmed_messages producer=q": 1})
	q.Close()

	if err := first.Reject(); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := (<-l.hold).Confirm(); err != nil {
			t.Fatal(err)
		}
	}
	until("confirmed_total producer=p", 60)
	m.Want(t, map[string]int{
		"unconfirmed_messages producer=p": 0, "unconfirmed_bytes producer=p": 0, "failed_total": 1,
	})
	if all, again := m.Values()["sent_total producer=p"],
		m.Values()["resent_total producer=p"]; again == 0 || all != 60+again {
		t.Errorf("%d were sent, %d of them again", all, again)
	}
	eventstest.CheckTable(t, m)

	p.Close()
	for series := range m.Values() { // order: each is looked at by itself
		if series == "sent_total producer=p" || series == "sent_total producer=q" {
			t.Errorf("%s is read although its producer is closed", series)
		}
	}
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, still := m.Values()["failed_total"]; still {
		t.Error("a region that was closed is read")
	}
}
