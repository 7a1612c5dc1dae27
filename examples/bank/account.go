package bank

import (
	"errors"
	"maps"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// ErrTooLittle refuses a withdrawal: the account has less. Nothing has changed.
var ErrTooLittle = errors.New("bank: too little money")

// Command is what an account understands. The answer is the balance.
type Command interface{ isCommand() }

type (
	// Pay pays an amount in, or out if it is below zero. The account pays each number once.
	Pay struct {
		sharding.Returns[Command, int]
		Number, Amount int
	}
	// Balance asks for the balance.
	Balance struct {
		sharding.Returns[Command, int]
	}
	// Paid is the event that the account has paid.
	Paid struct{ Number, Amount int }
	// State is an account.
	State struct {
		Balance int
		Numbers map[int]bool // that were paid
	}
)

func (Pay) isCommand()     {}
func (Balance) isCommand() {}

type effect = eventsourced.Effect[Command, Paid, State]

func handle(_ *sharding.Context[Command], s State, cmd Command) (effect, error) {
	e := effect{}
	if pay, is := cmd.(Pay); is && !s.Numbers[pay.Number] {
		if s.Balance+pay.Amount < 0 {
			return e.ThenReply(func(State) any { return ErrTooLittle }), nil
		}
		e = e.Persist(Paid{pay.Number, pay.Amount})
	}
	return e.ThenReply(func(s State) any { return s.Balance }), nil
}

func apply(s State, e Paid) State {
	numbers := maps.Clone(s.Numbers)
	if numbers == nil {
		numbers = map[int]bool{}
	}
	numbers[e.Number] = true
	return State{s.Balance + e.Amount, numbers}
}

// Accounts is the entity type. All nodes share the journal and the snapshots.
func Accounts(journal persistence.Journal, snapshots persistence.Snapshots) (sharding.EntityType[Command], error) {
	return eventsourced.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Account", Role: "bank"},
		Messages: sharding.CBOR[Command](Pay{}, Balance{}),
		Errors:   []error{ErrTooLittle},
	}, eventsourced.Behavior[Command, Paid, State]{
		Journal:  journal,
		Events:   schema.CBOR(schema.Type("Paid", Paid{})),
		Handle:   handle,
		Apply:    apply,
		Snapshot: eventsourced.Snapshot[State]{Every: 2, Store: snapshots},
	})
}
