package delivery_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// A delivery and each of its handlers are one trace, over two nodes; the baggage comes with it, also of what
// the queue has kept from an earlier producer. One that would not fit with its header goes without.
func TestDeliveriesAreTraced(t *testing.T) {
	r := tracingtest.New()
	ns := ddatatest.StartWith(t, 2, func(i int, c *ddata.Config) {
		c.Roles, c.Tracer = []string{[]string{"backend", "frontend"}[i]}, r
	})
	l := newHistory()
	l.fail[1] = 1
	region(t, ns[0], l.entityType(t))
	g := region(t, ns[1], l.entityType(t))
	queue := delivery.NewMemoryQueue()
	p := producer(t, g, delivery.Config{ID: "p", Queue: queue})
	ctx, outer := r.Start(tracingtest.WithBaggage(within(t, time.Minute), "gold"), tracing.Internal, "outer")
	if err := p.Deliver(ctx, "a", step{"p", 1}); err != nil {
		t.Fatal(err)
	}
	outer.End(nil)
	var of, rounds []string
	failed := 0
	for _, s := range r.Spans() {
		if s.Name == "confirm Walker" || s.Name == "deliver Walker" {
			of, rounds = append(of, s.Name+" "+s.Baggage), append(rounds, s.Attrs["coterie.round"])
		}
		if s.Err != nil {
			failed++
		}
	}
	slices.Sort(of)
	if want := []string{"confirm Walker gold", "confirm Walker gold", "deliver Walker gold"}; !slices.Equal(of, want) ||
		failed != 1 || !slices.Contains(rounds, "0") || !slices.Contains(rounds, "1") {
		t.Errorf("%q in rounds %q, %d failed, in\n%s", of, rounds, failed, tracingtest.Tree(r.Spans()))
	}
	l.mu.Lock()
	l.fail[2] = 1000
	l.mu.Unlock()
	if err := p.Send(ctx, "a", step{"p", 2}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	r.Clear()
	l.mu.Lock()
	l.fail[2] = 0
	l.mu.Unlock()
	again := producer(t, g, delivery.Config{ID: "p", Queue: queue, MessageMax: 100})
	if err := again.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err := r.Await(ctx, "confirm Walker"); err != nil || s.Baggage != "gold" {
		t.Errorf("what the queue kept has the baggage %q, %v", s.Baggage, err)
	}
	large := tracingtest.WithBaggage(ctx, string(make([]byte, 100)))
	if err := again.Deliver(large, "b", big{make([]byte, 40)}); err != nil {
		t.Errorf("a message does not go with its header, and not without: %v", err)
	}
	if err := again.Deliver(large, "b", big{make([]byte, 100)}); !errors.Is(err, sharding.ErrMessageTooLarge) {
		t.Errorf("a message of more than MessageMax: %v", err)
	}
}
