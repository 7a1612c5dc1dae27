package shardingtest_test

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// Command is what carts understand.
type Command interface{ cartCommand() }

// AddItem puts something into the cart. It is ordered a day later, if nothing else came.
type AddItem struct{ Count int }

// Total asks how many things are in the cart.
type Total struct{ sharding.Returns[Command, int] }

// Order is what a cart tells to its warehouse.
type Order struct{ Count int }

// overdue is what a cart reminds itself of.
type overdue struct{}

func (AddItem) cartCommand() {}
func (Total) cartCommand()   {}
func (Order) cartCommand()   {}
func (overdue) cartCommand() {}

// Cart is an entity.
type Cart struct{ count int }

// Receive handles one command at a time.
func (cart *Cart) Receive(c *sharding.Context[Command], msg Command) error {
	switch m := msg.(type) {
	case AddItem:
		cart.count += m.Count
		return c.SetReceiveTimeout(24*time.Hour, overdue{})
	case Total:
		return c.Reply(cart.count)
	case overdue:
		if err := c.Tell("warehouse", Order{cart.count}); err != nil {
			return err
		}
		return c.Passivate()
	}
	return nil
}

var cartType = sharding.EntityType[Command]{
	Identity:    sharding.Identity{Name: "Cart", Role: "backend"},
	Messages:    sharding.CBOR[Command](AddItem{}, Total{}, Order{}, overdue{}),
	Passivation: sharding.Passivation{Strategy: passivation.Strategy{None: true}},
	New:         func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
}

var _ shardingtest.TB = &test{}

// test stands for the *testing.T of a test, which an example does not have.
type test struct{ cleanups []func() }

func (t *test) Helper()                   {}
func (t *test) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (t *test) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (t *test) Logf(string, ...any)       {}
func (t *test) Failed() bool              { return false }
func (t *test) Cleanup(fn func())         { t.cleanups = append(t.cleanups, fn) }
func (t *test) end() {
	for _, fn := range t.cleanups {
		fn()
	}
}

func Example() {
	t := &test{} // a test has its *testing.T
	defer t.end()

	k := shardingtest.New(t, cartType)
	_ = k.Tell("cart-1", AddItem{Count: 2})
	_ = k.Tell("cart-1", AddItem{Count: 3})
	fmt.Println(shardingtest.Ask(k, "cart-1", Total{}))

	k.Advance(25 * time.Hour) // takes some milliseconds
	fmt.Printf("%+v\n", k.Others().Sent())
	fmt.Println(k.Active("cart-1"))
	// Output:
	// 5 <nil>
	// [{To:warehouse Msg:{Count:5} Asked:false Raw:[]}]
	// false
}

// A store fails as the test wants. Here it has the carts that are remembered.
func ExampleFaults() {
	t := &test{}
	defer t.end()

	ids := &remember.Memory{}
	remembered := cartType
	remembered.Remember = sharding.Remember{Entities: true, Store: ids}
	n := shardingtest.NewNode(t, "backend")
	k := shardingtest.On(n, remembered)
	var store shardingtest.Hooked = ids
	faults := n.Faults(store)
	faults.Fail(1, "Update") // the first write of an id fails, and is repeated
	var asked *shardingtest.Question[int] = shardingtest.StartAsk(k, "cart-1", Total{})
	fmt.Println("answered:", asked.Answered())
	total, err := asked.Wait() // time passes
	fmt.Println(total, err)

	n.Restart() // all that was in memory is gone
	fmt.Println("active:", k.Active("cart-1"))
	// Output:
	// answered: false
	// 0 <nil>
	// active: true
}

// What entities post to a box of the node is kept.
func ExampleBox() {
	t := &test{}
	defer t.end()

	k := shardingtest.New(t, cartType)
	var box *shardingtest.Box = k.Box("audit")
	_ = k.Tell("cart-1", AddItem{Count: 2})
	fmt.Println(len(box.Posts()), "posts")
	var sent []shardingtest.Sent[Command] = k.Others().Sent()
	fmt.Println(len(sent), "messages to others")
	// Output:
	// 0 posts
	// 0 messages to others
}
