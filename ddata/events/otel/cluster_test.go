package otel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// The messages of orders and accounts.
type (
	orderMessage   interface{ order() }
	accountMessage interface{ account() }

	place struct { // answered with the plan that the baggage names
		sharding.Returns[orderMessage, string]
		Account string
	}
	block struct {
		sharding.Returns[orderMessage, bool]
	}

	charge  struct{ Amount int }
	charged struct{ Amount int }
)

func (place) order()    {}
func (block) order()    {}
func (charge) account() {}

// shop is a cluster: the first two nodes have the orders, the third has the accounts.
type shop struct {
	nodes    []*ddata.Node
	orders   []*sharding.Region[orderMessage]
	exporter *tracetest.InMemoryExporter

	entered, open chan struct{} // of block
	plans         chan string   // of the baggage that accounts have seen
}

func startShop(t *testing.T) *shop {
	s := &shop{
		exporter: tracetest.NewInMemoryExporter(), entered: make(chan struct{}), open: make(chan struct{}),
		plans: make(chan string, 1),
	}
	s.nodes = ddatatest.StartWith(t, 3, func(i int, c *ddata.Config) {
		c.Roles = []string{"orders"}
		if i == 2 {
			c.Roles = []string{"accounts"}
		}
		c.Tracer = otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider(
			sdktrace.WithSyncer(s.exporter),
			sdktrace.WithResource(resource.NewSchemaless(attribute.String("node", fmt.Sprint(i)))),
		)})
	})
	journal := &memory.Store{}
	accounts, err := eventsourced.Persist(sharding.EntityType[accountMessage]{
		Identity: sharding.Identity{Name: "Account", Role: "accounts", Shards: 4},
		Messages: sharding.CBOR[accountMessage](charge{}),
	}, eventsourced.Behavior[accountMessage, charged, int]{
		Journal: journal, Events: schema.CBOR(schema.Type("charged", charged{})),
		Handle: func(
			c *sharding.Context[accountMessage], _ int, m accountMessage,
		) (eventsourced.Effect[accountMessage, charged, int], error) {
			s.plans <- baggage.FromContext(c).Member("plan").Value()
			return eventsourced.Effect[accountMessage, charged, int]{}.Persist(charged{m.(charge).Amount}), nil
		},
		Apply: func(sum int, e charged) int { return sum + e.Amount },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.nodes {
		g, err := sharding.Start(n, accounts)
		if err != nil {
			t.Fatal(err)
		}
		s.start(t, n, g)
	}
	return s
}

// start starts the orders on a node.
func (s *shop) start(t *testing.T, n *ddata.Node, accounts *sharding.Region[accountMessage]) {
	orders := sharding.EntityType[orderMessage]{
		Identity: sharding.Identity{Name: "Order", Role: "orders", Shards: 4},
		Messages: sharding.CBOR[orderMessage](place{}, block{}),
	}
	orders.New = func(*sharding.Context[orderMessage]) sharding.Entity[orderMessage] {
		return order{s, n, accounts}
	}
	g, err := sharding.Start(n, orders)
	if err != nil {
		t.Fatal(err)
	}
	s.orders = append(s.orders, g)
}

type order struct {
	s        *shop
	n        *ddata.Node
	accounts *sharding.Region[accountMessage]
}

// Receive implements sharding.Entity.
func (o order) Receive(c *sharding.Context[orderMessage], m orderMessage) error {
	switch m := m.(type) {
	case block:
		o.s.entered <- struct{}{}
		<-o.s.open
		return c.Reply(true)
	case place:
		r, err := o.n.Replicator("orders")
		if err != nil {
			return err
		}
		if err := ddata.Update(c, r, ddata.NewKey[crdt.GCounter]("placed"), ddata.WriteMajority,
			func(n *crdt.GCounterTx) error { return n.Increment(1) }); err != nil {
			return err
		}
		if err := o.accounts.Tell(c, m.Account, charge{7}); err != nil {
			return err
		}
		return c.Reply(baggage.FromContext(c).Member("plan").Value())
	}
	return nil
}

// A question that waits for a hand-off, its handler on another node, a replicated write, what the handler
// tells, and the event that is stored because of that, back on the first node, are one trace.
func TestOneTrace(t *testing.T) {
	s := startShop(t)
	ctx, cancel := context.WithTimeout(t.Context(), ddatatest.Patience)
	defer cancel()
	id, moved := s.movesAway(t, ctx)
	defer moved()
	caller := withBaggage(ctx, t, "plan", "gold")
	asked := make(chan error, 1)
	go func() {
		plan, err := sharding.Ask(caller, s.orders[2].Ref(id), place{Account: "a1"})
		if err == nil && plan != "gold" {
			err = fmt.Errorf("the baggage of the handler is %q", plan)
		}
		asked <- err
	}()
	poll(t, ctx, "the question waits", func() bool { return s.orders[2].Stats().Buffered > 0 })
	close(s.open)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if plan := <-s.plans; plan != "gold" {
		t.Errorf("the baggage of the account is %q", plan)
	}
	const want = "ask Order 2\n" +
		"  buffer Order 2\n" +
		"  answer Order 0\n" +
		"    update orders 0\n" +
		"    tell Account 0\n" +
		"      buffer Account 0\n" + // until the home of its shard is known
		"      recover Account 2\n" +
		"      receive Account 2\n" +
		"        save Account 2\n"
	var got string
	poll(t, ctx, "the last spans end", func() bool {
		got = tree(s.traceOf("place"))
		return strings.Contains(got, "save") && strings.Contains(got, "receive") && strings.Contains(got, "ask")
	})
	// a home may get a message before it knows that it is one
	for _, early := range []string{"  buffer Order 0\n", "      buffer Account 2\n"} {
		got = strings.Replace(got, early, "", 1)
	}
	if got != want {
		t.Errorf("the trace is\n%swant\n%s", got, want)
	}
}

// movesAway has an order of the second node begin to move to the first one, and returns its id: what is
// sent to it waits until open is closed. moved waits until it has moved.
func (s *shop) movesAway(t *testing.T, ctx context.Context) (id string, moved func()) {
	t.Helper()
	for i := 0; ; i++ {
		id = fmt.Sprint("o", i)
		loc, err := s.orders[2].StartEntity(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if loc.Node == s.nodes[1].UID() {
			break
		}
	}
	blocked, left := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := sharding.Ask(ctx, s.orders[2].Ref(id), block{})
		blocked <- err
	}()
	<-s.entered
	go func() { left <- s.nodes[1].Leave(ctx) }()
	poll(t, ctx, "the shard moves", func() bool {
		loc, err := s.orders[2].Where(ctx, id, sharding.LookHere)
		return err == nil && loc.Node == 0
	})
	return id, func() {
		for _, c := range []chan error{blocked, left} {
			if err := <-c; err != nil {
				t.Error(err)
			}
		}
	}
}

// traceOf are the spans of the trace of the question with a message of that type.
func (s *shop) traceOf(message string) (spans tracetest.SpanStubs) {
	all := s.exporter.GetSpans()
	var id trace.TraceID
	for _, x := range all {
		for _, a := range x.Attributes {
			if x.Name == "ask Order" && a.Key == "coterie.message.type" && a.Value.AsString() == "otel_test."+message {
				id = x.SpanContext.TraceID()
			}
		}
	}
	for _, x := range all {
		if x.SpanContext.TraceID() == id {
			spans = append(spans, x)
		}
	}
	return spans
}

// poll waits until something is so.
func poll(t *testing.T, ctx context.Context, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}
