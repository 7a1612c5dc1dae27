package bank

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// One account, step by step. The journal loses an answer, and the node crashes.
func TestAccount(t *testing.T) {
	store := &memory.Store{}
	accounts, err := Accounts(store, store)
	if err != nil {
		t.Fatal(err)
	}
	k := shardingtest.New(t, accounts)
	ask := func(cmd sharding.Request[Command, int], want int, wantErr error) {
		t.Helper()
		if got, err := shardingtest.Ask(k, "alice", cmd); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%+v: %d, %v; want %d, %v", cmd, got, err, want, wantErr)
		}
	}
	ask(Pay{Number: 1, Amount: 5}, 5, nil)
	ask(Pay{Number: 2, Amount: -6}, 0, ErrTooLittle)
	k.Faults(store).LoseAnswer(1, "Append")
	_, _ = shardingtest.Ask(k, "alice", Pay{Number: 3, Amount: -2}) // whatever it hears, it asks again
	ask(Pay{Number: 3, Amount: -2}, 3, nil)
	k.Restart()
	ask(Balance{}, 3, nil)
}

// Accounts on three nodes, whatever happens to these.
func TestAccounts(t *testing.T) {
	simtest.Entity[Command, [4]int]{ // the amount of each number
		Start: func(n *simtest.Node) (sharding.EntityType[Command], error) {
			return Accounts(n.Journal(), n.Snapshots())
		},
		Op: func(t *rapid.T) simtest.Op[Command] {
			number := rapid.IntRange(0, 3).Draw(t, "number")
			return simtest.Ask(Pay{Number: number, Amount: rapid.SampledFrom([]int{-2, -1, 1, 2}).Draw(t, "amount")})
		},
		Final: new(simtest.Ask(Balance{})),
		Model: func(paid [4]int, cmd Command) ([4]int, any) {
			balance := paid[0] + paid[1] + paid[2] + paid[3]
			if pay, is := cmd.(Pay); is && paid[pay.Number] == 0 {
				if balance += pay.Amount; balance < 0 {
					return paid, ErrTooLittle
				}
				paid[pay.Number] = pay.Amount
			}
			return paid, balance
		},
	}.Check(t)
}
