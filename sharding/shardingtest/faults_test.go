package shardingtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	reminders "github.com/coterie-go/coterie/sharding/remind/memory"
)

// book is the message of accounts: a change, answered with the balance after it.
type book struct {
	sharding.Returns[book, int]
	Cents int
}

type booked struct{ Cents int }

func account() sharding.EntityType[book] {
	return sharding.EntityType[book]{
		Identity: sharding.Identity{Name: "account", Role: "backend"}, Messages: sharding.CBOR[book](book{}),
	}
}

// accounts is a kit of entities with events in a store.
func accounts(t TB, store *memory.Store) *Kit[book] {
	t.Helper()
	typ, err := eventsourced.Persist(account(), eventsourced.Behavior[book, booked, int]{
		Journal: store, Events: schema.CBOR(schema.Type("booked", booked{})),
		Handle: func(_ *sharding.Context[book], _ int, b book) (eventsourced.Effect[book, booked, int], error) {
			return eventsourced.Effect[book, booked, int]{}.Persist(booked{b.Cents}).ThenReply(
				func(balance int) any { return balance }), nil
		},
		Apply: func(balance int, e booked) int { return balance + e.Cents },
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return New(t, typ)
}

// states is a kit of entities with a stored value.
func states(t TB, store *memory.Store) *Kit[book] {
	t.Helper()
	typ, err := durablestate.Persist(account(), durablestate.Behavior[book, booked]{
		States: store, Schema: schema.CBOR(schema.Type("balance", booked{})),
		Handle: func(_ *sharding.Context[book], s booked, b book) (durablestate.Effect[book, booked], error) {
			return durablestate.Effect[book, booked]{}.Persist(booked{s.Cents + b.Cents}).ThenReply(
				func(s booked) any { return s.Cents }), nil
		},
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return New(t, typ)
}

// books asks for a change.
func books(t *testing.T, k *Kit[book], cents, want int) {
	t.Helper()
	if n, err := Ask(k, "a", book{Cents: cents}); err != nil || n != want {
		t.Errorf("the balance is %d, %v, want %d", n, err, want)
	}
}

// What is stored survives a crash and a move, whatever keeps it.
func TestStoredState(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, start := range []func(TB, *memory.Store) *Kit[book]{accounts, states} {
			k := start(t, &memory.Store{})
			books(t, k, 5, 5)
			k.Restart()
			books(t, k, 2, 7)
			k.Move()
			books(t, k, 1, 8)
		}
	})
}

// A store that fails, hangs or loses an answer for a while costs time, and no event is written twice.
func TestFaults(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, fault := range map[string]func(f *Faults, times int, calls ...string){
			"fail": (*Faults).Fail, "hang": (*Faults).Hang, "lose": (*Faults).LoseAnswer,
		} {
			store := &memory.Store{}
			k := accounts(t, store)
			f := k.Faults(store)
			books(t, k, 5, 5)
			f.Fail(1, "Load") // which is called at the restart, and once more
			times := 2
			if name == "hang" {
				times = 1 // a second one would take longer than an entity waits for its store
			}
			fault(f, times, "Append")
			began := k.Now()
			books(t, k, 2, 7)
			if took := k.Now().Sub(began); took < 10*time.Millisecond {
				t.Errorf("%s: it was answered after %v", name, took)
			}
			appends := slices.DeleteFunc(f.Calls(), func(call string) bool { return call != "Append" })
			if len(appends) != times+2 {
				t.Errorf("%s: the store was called by %q", name, f.Calls())
			}
			k.Restart()
			books(t, k, 0, 7)
		}
	})
}

// A test whose fault can never come fails: it would test nothing.
func TestFaultThatNeverComes(t *testing.T) {
	text := textOf(t, func(f *failing) {
		store := &memory.Store{}
		k := accounts(f, store)
		faults := k.Faults(store)
		faults.Fail(1, "SaveSnapshots", "Append") // one of them comes
		faults.LoseAnswer(1, "Apend")
		faults.Heal()
		if _, err := Ask(k, "a", book{Cents: 1}); err != nil {
			f.Errorf("%v", err)
		}
	})
	if !contains(text, `["Apend"] was to have a fault, and was never called; the calls were ["Append"`) ||
		strings.Contains(text, "SaveSnapshots") {
		t.Error(text)
	}
}

func TestFaultsOfNoStore(t *testing.T) {
	text := textOf(t, func(f *failing) { accounts(f, &memory.Store{}).Faults(nil) })
	if !contains(text, "Faults of no store") {
		t.Error(text)
	}
}

// A store that does not come back is given up: the entity fails, and goes on when the store does.
func TestFaultsWithoutEnd(t *testing.T) {
	both(t, func(t *testing.T) {
		store := &memory.Store{}
		k := accounts(t, store)
		books(t, k, 5, 5)
		f := k.Faults(store)
		f.Fail(1_000_000)
		_, err := Ask(k, "a", book{Cents: 1})
		k.Advance(time.Minute)
		all := k.Failures()
		if err == nil || len(all) == 0 || !errors.Is(all[0].Err, ErrFault) {
			t.Errorf("the asker got %v, the failures are %v", err, all)
		}
		f.Heal()
		k.Advance(time.Minute)
		books(t, k, 2, 7)
	})
}

// An entity whose shard another node has taken over cannot write.
func TestDepose(t *testing.T) {
	both(t, func(t *testing.T) {
		store := &memory.Store{}
		k := accounts(t, store)
		books(t, k, 5, 5)
		k.Depose(store, "a")
		if _, err := Ask(k, "a", book{Cents: 1}); !errors.Is(err, sharding.ErrHandler) {
			t.Errorf("the asker got %v", err)
		}
		if all := k.Failures(); len(all) == 0 || !errors.Is(all[0].Err, persistence.ErrFenced) {
			t.Errorf("the failures are %v", all)
		}
	})
}

// Reminders may have a store, which fails as others do.
func TestReminderStore(t *testing.T) {
	both(t, func(t *testing.T) {
		store := &reminders.Store{}
		typ := sumType(new(int), nil)
		typ.Reminders.Store = store
		k := New(t, typ)
		tells(t, k, "a", remind{k.Now().Add(time.Hour)})
		f := k.Faults(store)
		f.Fail(3, "Due")
		k.Advance(59 * time.Minute)
		wants(t, k, "a", 0)
		k.Advance(2 * time.Minute)
		wants(t, k, "a", 1)
	})
}
