package doc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// Command is what a cart understands.
type Command interface{ command() }

// AddItem puts something into the cart.
type AddItem struct {
	Name  string
	Count int
}

// Total is a question, answered with an int.
type Total struct{ sharding.Returns[Command, int] }

func (AddItem) command() {}
func (Total) command()   {}

// Cart is an entity: the state of one id, and what it does.
type Cart struct{ count int }

// Receive handles one message at a time.
func (cart *Cart) Receive(c *sharding.Context[Command], msg Command) error {
	switch m := msg.(type) {
	case AddItem:
		cart.count += m.Count
	case Total:
		return c.Reply(cart.count)
	}
	return nil
}

var carts = sharding.EntityType[Command]{
	Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 100},
	Messages: sharding.CBOR[Command](AddItem{}, Total{}),
	New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
}

// shopNode is a cluster of one node in this process, for the examples.
func shopNode(ctx context.Context) (*ddata.Node, error) {
	return ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// onNode prints what use makes of such a node.
func onNode(use func(context.Context, *ddata.Node) (int, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := shopNode(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	fmt.Println(use(ctx, node))
}

// useCarts starts the type on a node, tells a cart and asks it.
func useCarts(ctx context.Context, node *ddata.Node) (total int, err error) {
	region, err := sharding.Start(node, carts)
	if err != nil {
		return 0, err
	}
	cart := region.Ref("cart-42") // may be kept: it follows the cart to other nodes
	if err := cart.Tell(ctx, AddItem{"apple", 2}); err != nil {
		return 0, err
	}
	return sharding.Ask(ctx, cart, Total{})
}

func Example_entities() {
	onNode(useCarts)
	// Output: 2 <nil>
}

// ErrTooMuch is for the caller. It says nothing against the entity.
var ErrTooMuch = errors.New("a cart has at most 100 pieces")

// FirmCart refuses what is too much.
type FirmCart struct{ Cart }

// Put is a question that may be refused.
type Put struct {
	sharding.Returns[Command, int]
	Count int
}

func (Put) command() {}

// Receive implements sharding.Entity.
func (cart *FirmCart) Receive(c *sharding.Context[Command], msg Command) error {
	put, is := msg.(Put)
	if !is {
		return cart.Cart.Receive(c, msg)
	}
	if cart.count+put.Count > 100 {
		return c.Fail(ErrTooMuch) // the cart goes on as it is
	}
	cart.count += put.Count
	return c.Reply(cart.count)
}

// Stop is called when the incarnation ends in order: it is passivated, or its shard moves.
func (cart *FirmCart) Stop(c *sharding.Context[Command]) error {
	slog.Debug("cart ends", "id", c.ID(), "count", cart.count)
	return nil
}

var firmCarts = sharding.EntityType[Command]{
	Identity: sharding.Identity{Name: "Cart", Role: "backend"},
	Messages: sharding.CBOR[Command](AddItem{}, Total{}, Put{}),
	Errors:   []error{ErrTooMuch}, // reaches an asker on another node as itself
	New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &FirmCart{} },
}

func TestRefused(t *testing.T) {
	k := shardingtest.New(t, firmCarts)
	if n, err := shardingtest.Ask(k, "cart-42", Put{Count: 99}); n != 99 || err != nil {
		t.Error(n, err)
	}
	if _, err := shardingtest.Ask(k, "cart-42", Put{Count: 2}); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	if n, err := shardingtest.Ask(k, "cart-42", Total{}); n != 99 || err != nil || len(k.Failures()) > 0 {
		t.Error(n, err, k.Failures())
	}
	k.Advance(3 * time.Minute)
	if k.Stops("cart-42") != 1 || k.Active("cart-42") {
		t.Error("it was not passivated")
	}
}

// prices is a service outside of the cluster, whose answers take their time.
type prices interface {
	Of(ctx context.Context, name string) (int, error)
}

// PricedCart asks a slow service.
type PricedCart struct {
	prices prices
	sum    int
}

// Receive lets its worker go while the service thinks. The cart handles nothing else until then.
func (cart *PricedCart) Receive(c *sharding.Context[Command], msg Command) error {
	m, is := msg.(AddItem)
	if !is {
		return c.Reply(cart.sum)
	}
	await, err := c.Await()
	if err != nil {
		return err
	}
	go func() {
		price, err := cart.prices.Of(c, m.Name)
		await.Continue(func(*sharding.Context[Command]) error { // in line with Receive
			cart.sum += m.Count * price
			return err
		})
	}()
	return nil
}

type priceList map[string]int

func (l priceList) Of(_ context.Context, name string) (int, error) { return l[name], nil }

func Example_await() {
	onNode(func(ctx context.Context, node *ddata.Node) (total int, err error) {
		typ := carts
		typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
			return &PricedCart{prices: priceList{"apple": 3}}
		}
		region, err := sharding.Start(node, typ)
		if err != nil {
			return 0, err
		}
		if err := region.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
			return 0, err
		}
		return sharding.Ask(ctx, region.Ref("cart-42"), Total{})
	})
	// Output: 6 <nil>
}

// A lost connection says nothing against the cart. A broken rule does.
var supervision = sharding.Supervision{
	Decide: func(err error) sharding.Directive {
		if errors.Is(err, context.DeadlineExceeded) {
			return sharding.Resume
		}
		return sharding.Restart
	},
	Restarts: 10, Within: time.Minute, // more than that are no accident: OverBudget
}

func TestSupervised(t *testing.T) {
	typ := carts
	typ.Supervision = supervision
	fails := map[string]error{"slow": context.DeadlineExceeded, "broken": errors.New("a rule is broken")}
	typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
		return &failing{fails: fails}
	}
	k := shardingtest.New(t, typ)
	for _, id := range []string{"slow", "broken"} {
		if err := k.Tell(id, AddItem{Name: id}); err != nil {
			t.Fatal(err)
		}
		k.Advance(time.Second)
	}
	if n := k.Incarnations("slow"); n != 1 {
		t.Error("slow has", n, "incarnations")
	}
	if n := k.Incarnations("broken"); n != 2 {
		t.Error("broken has", n, "incarnations")
	}
	if len(k.Failures()) != 2 {
		t.Error(k.Failures())
	}
}

// failing fails as the name of an item says.
type failing struct{ fails map[string]error }

func (f *failing) Receive(_ *sharding.Context[Command], msg Command) error {
	if m, is := msg.(AddItem); is {
		return f.fails[m.Name]
	}
	return nil
}

// watched tells of everything that goes wrong with the type on this node.
func watched(typ sharding.EntityType[Command], log *slog.Logger) sharding.EntityType[Command] {
	typ.OnEvent = func(e events.Event) {
		switch e := e.(type) {
		case sharding.Drop:
			log.Warn("lost", "entity", e.ID, "why", e.Reason)
		case sharding.Failure:
			log.Error("failed", "entity", e.ID, "err", e.Err)
		}
	}
	return typ
}

func TestWatched(t *testing.T) {
	var log strings.Builder
	typ := watched(carts, slog.New(slog.NewTextHandler(&log, nil)))
	typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
		return &failing{fails: map[string]error{"broken": errors.New("a rule is broken")}}
	}
	k := shardingtest.New(t, typ)
	if err := k.Tell("cart-42", AddItem{Name: "broken"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "entity=cart-42 err=\"a rule is broken\"") {
		t.Error(log.String())
	}
}

// deliver has a cart confirm what it is sent: it is sent again until then, also to the cart's next home.
func deliver(ctx context.Context, node *ddata.Node) (total int, err error) {
	typ, err := delivery.Consume(carts, delivery.ConsumerConfig{})
	if err != nil {
		return 0, err
	}
	region, err := sharding.Start(node, typ)
	if err != nil {
		return 0, err
	}
	orders, err := delivery.NewProducer(region, delivery.Config{ID: "orders"})
	if err != nil {
		return 0, err
	}
	defer orders.Close()
	if err := orders.Deliver(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
		return 0, err // not confirmed in time: it may have been handled
	}
	return sharding.Ask(ctx, region.Ref("cart-42"), Total{})
}

func Example_deliver() {
	onNode(deliver)
	// Output: 2 <nil>
}
