package doc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// BankCommand is what an account understands. The answer is the balance.
type BankCommand interface{ bankCommand() }

// Deposit pays in.
type Deposit struct {
	sharding.Returns[BankCommand, int]
	Cents int
}

// Withdraw pays out, if there is enough.
type Withdraw struct {
	sharding.Returns[BankCommand, int]
	Cents int
}

// Paid is the event of an account. Its state is the sum of them.
type Paid struct{ Cents int }

func (Deposit) bankCommand()  {}
func (Withdraw) bankCommand() {}

// ErrTooLittle refuses a withdrawal.
var ErrTooLittle = errors.New("too little money")

type bankEffect = eventsourced.Effect[BankCommand, Paid, int]

// bank decides about a command. It changes nothing: apply does.
func bank(_ *sharding.Context[BankCommand], balance int, cmd BankCommand) (bankEffect, error) {
	e := bankEffect{}
	switch m := cmd.(type) {
	case Deposit:
		e = e.Persist(Paid{m.Cents})
	case Withdraw:
		if m.Cents > balance {
			return e.ThenReply(func(int) any { return ErrTooLittle }), nil
		}
		e = e.Persist(Paid{-m.Cents})
	}
	return e.ThenReply(func(balance int) any { return balance }), nil // when the event is stored
}

// apply makes the balance after an event.
func apply(balance int, e Paid) int { return balance + e.Cents }

// accounts is the type, over a journal that all nodes share.
func accounts(journal persistence.Journal) (sharding.EntityType[BankCommand], error) {
	return eventsourced.Persist(sharding.EntityType[BankCommand]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[BankCommand](Deposit{}, Withdraw{}),
		Errors:   []error{ErrTooLittle},
	}, eventsourced.Behavior[BankCommand, Paid, int]{
		Journal:  journal,
		Events:   schema.CBOR(schema.Type("paid", Paid{})),
		Handle:   bank,
		Apply:    apply,
		Snapshot: eventsourced.Snapshot[int]{Every: 100},
		Tags: func(_ string, e Paid) []string {
			if e.Cents < 0 {
				return []string{"withdrawal"}
			}
			return nil
		},
	})
}

// The balance is there again after a passivation and after a crash.
func TestAccountKeepsItsMoney(t *testing.T) {
	store := &memory.Store{} // a service takes one that outlives it
	typ, err := accounts(store)
	if err != nil {
		t.Fatal(err)
	}
	k := shardingtest.New(t, typ)
	if n, err := shardingtest.Ask(k, "alice", Deposit{Cents: 100}); n != 100 || err != nil {
		t.Error(n, err)
	}
	k.Advance(time.Hour) // it was passivated
	if n, err := shardingtest.Ask(k, "alice", Withdraw{Cents: 30}); n != 70 || err != nil {
		t.Error(n, err)
	}
	k.Restart() // the node has crashed
	if _, err := shardingtest.Ask(k, "alice", Withdraw{Cents: 71}); !errors.Is(err, ErrTooLittle) {
		t.Error(err)
	}
	var found []uint64
	err = withdrawals(t.Context(), store, func(r persistence.Recorded) { found = append(found, r.Event.Seq) })
	if err != nil || !slices.Equal(found, []uint64{2}) {
		t.Error(found, err)
	}
}

// withdrawals reads the events of all accounts that have a tag, in order for each account.
func withdrawals(ctx context.Context, journal persistence.Reader, each func(persistence.Recorded)) error {
	for r, err := range journal.Events(ctx, persistence.Query{Type: "Account", Tag: "withdrawal"}) {
		if err != nil {
			return err
		}
		each(r)
	}
	return nil
}

// ProfileCommand is what a profile understands.
type ProfileCommand interface{ profileCommand() }

// Rename is answered with the former name.
type Rename struct {
	sharding.Returns[ProfileCommand, string]
	To string
}

// Forget deletes the profile.
type Forget struct{}

// Profile is a state: one value for each id.
type Profile struct{ Name string }

func (Rename) profileCommand() {}
func (Forget) profileCommand() {}

type profileEffect = durablestate.Effect[ProfileCommand, Profile]

// profiles is the type, over a store that all nodes share.
func profiles(states persistence.States) (sharding.EntityType[ProfileCommand], error) {
	return durablestate.Persist(sharding.EntityType[ProfileCommand]{
		Identity: sharding.Identity{Name: "Profile", Role: "backend"},
		Messages: sharding.CBOR[ProfileCommand](Rename{}, Forget{}),
	}, durablestate.Behavior[ProfileCommand, Profile]{
		States: states,
		Handle: func(_ *sharding.Context[ProfileCommand], p Profile, cmd ProfileCommand) (profileEffect, error) {
			switch m := cmd.(type) {
			case Rename:
				return profileEffect{}.Persist(Profile{m.To}).ThenReply(func(Profile) any { return p.Name }), nil
			case Forget:
				return profileEffect{}.Delete(), nil
			}
			return profileEffect{}, nil
		},
	})
}

func TestProfile(t *testing.T) {
	typ, err := profiles(&memory.Store{})
	if err != nil {
		t.Fatal(err)
	}
	k := shardingtest.New(t, typ)
	names := []string{"Ann", "Anne"}
	for i, was := range append([]string{""}, names...) {
		if former, err := shardingtest.Ask(k, "42", Rename{To: append(names, "Anna")[i]}); former != was || err != nil {
			t.Errorf("it was %q, %v; want %q", former, err, was)
		}
		k.Restart()
	}
	if err := k.Tell("42", Forget{}); err != nil {
		t.Fatal(err)
	}
	if former, err := shardingtest.Ask(k, "42", Rename{To: "Bob"}); former != "" || err != nil {
		t.Error(former, err)
	}
}

// Booked is the event that an account has today.
type Booked struct {
	Cents    int64
	Currency string
}

// bookedV1 is its first form, which old journals hold.
type bookedV1 struct{ Euros int64 }

// booked lists the forms of the event, the oldest first.
var booked = schema.CBOR(schema.Type("booked", Booked{},
	schema.From(func(old bookedV1) (Booked, error) { return Booked{100 * old.Euros, "EUR"}, nil }),
))

func TestOldEvents(t *testing.T) {
	old, err := schema.CBOR(schema.Type("booked", bookedV1{})).Encode(bookedV1{Euros: 5})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := booked.Decode(old); e != (Booked{500, "EUR"}) || err != nil {
		t.Error(e, err)
	}
}

// LoanCommand is what a loan of a book understands.
type LoanCommand interface{ loanCommand() }

type (
	// Lend begins it.
	Lend struct{ Until time.Time }
	// GiveBack ends it.
	GiveBack struct{}
	// Overdue is what the loan reminds itself of.
	Overdue struct{}
)

func (Lend) loanCommand()     {}
func (GiveBack) loanCommand() {}
func (Overdue) loanCommand()  {}

// Loan sends a notice when a book is late.
type Loan struct{ notify func(book string) error }

// Receive implements sharding.Entity.
func (l Loan) Receive(c *sharding.Context[LoanCommand], msg LoanCommand) error {
	switch m := msg.(type) {
	case Lend:
		return c.Remind("overdue", m.Until, Overdue{}) // returns when it is stored
	case GiveBack:
		return c.CancelReminder("overdue")
	case Overdue:
		return l.notify(c.ID()) // an error: it comes again, after a pause
	}
	return nil
}

func loans(notify func(book string) error) sharding.EntityType[LoanCommand] {
	return sharding.EntityType[LoanCommand]{
		Identity:  sharding.Identity{Name: "Loan", Role: "backend"},
		Messages:  sharding.CBOR[LoanCommand](Lend{}, GiveBack{}, Overdue{}),
		Reminders: sharding.Reminders{Enabled: true},
		New:       func(*sharding.Context[LoanCommand]) sharding.Entity[LoanCommand] { return Loan{notify} },
	}
}

// A book is late, though its loan was passivated and the node has crashed meanwhile.
func TestLateBook(t *testing.T) {
	var late []string
	k := shardingtest.New(t, loans(func(book string) error {
		late = append(late, book)
		return nil
	}))
	for id, msgs := range map[string][]LoanCommand{ // order: each loan is for itself
		"Ulysses": {Lend{Until: k.Now().Add(24 * time.Hour)}},
		"Emma":    {Lend{Until: k.Now().Add(24 * time.Hour)}, GiveBack{}},
	} {
		for _, m := range msgs {
			if err := k.Tell(id, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	k.Advance(23 * time.Hour)
	k.Restart()
	if k.Active("Ulysses") || len(late) > 0 {
		t.Error("it came early:", late)
	}
	k.Advance(2 * time.Hour)
	if !slices.Equal(late, []string{"Ulysses"}) {
		t.Error("late are", late)
	}
}
