package doc_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// One entity: what it answers, and what it has forgotten a day later.
func TestCart(t *testing.T) {
	k := shardingtest.New(t, carts)
	if err := k.Tell("cart-42", AddItem{"apple", 2}); err != nil {
		t.Fatal(err)
	}
	if n, err := shardingtest.Ask(k, "cart-42", Total{}); n != 2 || err != nil {
		t.Error(n, err)
	}
	k.Advance(24 * time.Hour) // some milliseconds
	if n, err := shardingtest.Ask(k, "cart-42", Total{}); n != 0 || err != nil {
		t.Error("it was passivated, and keeps nothing:", n, err)
	}
}

// The store loses an answer. Then it fails for good. Then another node has taken the account over.
func TestStoreFails(t *testing.T) {
	store := &memory.Store{}
	typ, err := accounts(store)
	if err != nil {
		t.Fatal(err)
	}
	k := shardingtest.New(t, typ)
	faults := k.Faults(store)

	faults.LoseAnswer(1, "Append") // the write is repeated, and takes effect once
	if n, err := shardingtest.Ask(k, "alice", Deposit{Cents: 5}); n != 5 || err != nil {
		t.Error(n, err)
	}

	faults.Fail(1000, "Append")
	if _, err := shardingtest.Ask(k, "alice", Deposit{Cents: 5}); err == nil {
		t.Error("it was stored nowhere")
	}
	faults.Heal()
	if n, err := shardingtest.Ask(k, "alice", Deposit{Cents: 1}); n != 6 || err != nil {
		t.Error(n, err)
	}

	k.Depose(store, "alice")
	if _, err := shardingtest.Ask(k, "alice", Deposit{Cents: 1}); !errors.Is(err, sharding.ErrHandler) {
		t.Error(err)
	}
	failed := func(f sharding.Failure) bool { return errors.Is(f.Err, persistence.ErrFenced) }
	if !slices.ContainsFunc(k.Failures(), failed) {
		t.Error(k.Failures())
	}
}

// Ship is what a warehouse understands.
type Ship struct {
	sharding.Returns[Ship, bool]
	Item string
}

// Buyer is an entity that asks one of another type.
type Buyer struct{ warehouses *sharding.Region[Ship] }

// Receive implements sharding.Entity.
func (b Buyer) Receive(c *sharding.Context[Command], msg Command) error {
	m, is := msg.(AddItem)
	if !is {
		return nil
	}
	shipped, err := sharding.Ask(c, b.warehouses.Ref("north"), Ship{Item: m.Name})
	if err == nil && !shipped {
		err = fmt.Errorf("no %s", m.Name)
	}
	return err
}

// Other types are stand-ins: they keep what reaches them, and answer as the test wants.
func TestBuyer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { // its handler waits for another one
		node := shardingtest.NewNode(t, "backend")
		warehouses := shardingtest.Stub(node, sharding.EntityType[Ship]{
			Identity: sharding.Identity{Name: "Warehouse", Role: "backend"},
			Messages: sharding.CBOR(Ship{}),
		})
		warehouses.Answer(func(_ string, m Ship) (any, error) { return m.Item == "apple", nil })
		typ := carts
		typ.New = func(*sharding.Context[Command]) sharding.Entity[Command] {
			return Buyer{warehouses.Region()}
		}
		k := shardingtest.On(node, typ)
		for _, fruit := range []string{"apple", "pear"} {
			if err := k.Tell("cart-42", AddItem{fruit, 1}); err != nil {
				t.Fatal(err)
			}
		}
		if sent := warehouses.Sent(); len(sent) != 2 || sent[0].To != "north" {
			t.Error(sent)
		}
		if f := k.Failures(); len(f) != 1 || f[0].Err.Error() != "no pear" {
			t.Error(f)
		}
	})
}

// A cluster: the node of an account is killed, and the account answers elsewhere.
func TestKilledNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { // time is synthetic: no second is waited for
		c := ddatatest.NewCluster(t, 3, func(_ int, cfg *ddata.Config) { cfg.Roles = []string{"backend"} })
		regions := make([]*sharding.Region[BankCommand], c.Len())
		for i := range regions {
			journal, err := replicated.Open(c.Node(i), "backend") // the real one: each node has its own
			if err != nil {
				t.Fatal(err)
			}
			typ, err := accounts(journal)
			if err != nil {
				t.Fatal(err)
			}
			regions[i] = shardingtest.RegionAt(t, c, i, typ)
		}
		if _, err := sharding.Ask(t.Context(), regions[0].Ref("alice"), Deposit{Cents: 5}); err != nil {
			t.Fatal(err)
		}
		at, err := regions[0].Where(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range c.Running() {
			if c.Node(i).UID() == at.Node {
				c.Kill(i)
				break
			}
		}
		other := c.Running()[0]
		if n, err := sharding.Ask(t.Context(), regions[other].Ref("alice"), Withdraw{Cents: 2}); n != 3 || err != nil {
			t.Error(n, err)
		}
	})
}

// A simulated cluster: whatever happens to its nodes and its store, accounts are what the model says.
func TestAccountsInTheWorld(t *testing.T) {
	simtest.Entity[BankCommand, int]{
		Start: func(n *simtest.Node) (sharding.EntityType[BankCommand], error) { return accounts(n.Journal()) },
		Op: func(t *rapid.T) simtest.Op[BankCommand] {
			cents := rapid.IntRange(1, 5).Draw(t, "cents")
			if rapid.Bool().Draw(t, "withdraws") {
				return simtest.Ask(Withdraw{Cents: cents})
			}
			return simtest.Ask(Deposit{Cents: cents})
		},
		Model: func(balance int, cmd BankCommand) (int, any) { // what an account is for
			switch m := cmd.(type) {
			case Deposit:
				balance += m.Cents
			case Withdraw:
				if m.Cents > balance {
					return balance, ErrTooLittle
				}
				balance -= m.Cents
			}
			return balance, balance
		},
	}.Check(t)
}
