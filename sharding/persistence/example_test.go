package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// stay is a hosting of a shard. Later ones have higher tokens.
func stay(count uint64) persistence.Hosting {
	return persistence.Hosting{Type: "Account", Shard: 7, Token: ddata.FencingToken{Epoch: 1, Seq: count}}
}

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// event is one without a body.
func event(seq uint64, name string) []persistence.Event {
	return []persistence.Event{{Seq: seq, Name: name, Version: 1, At: at}}
}

// A store of one's own is called so, by package sharding. An earlier hosting is refused when a later one has
// begun.
func ExampleJournal() {
	ctx := context.Background()
	var journal persistence.Journal = &memory.Store{}
	first := stay(1)
	refused, err := journal.Append(ctx, first, []persistence.Write{{
		Entity: "alice", ID: 1,
		Events: []persistence.Event{{Seq: 1, Name: "deposited", Version: 1, Body: []byte{100}, At: at}},
	}})
	fmt.Println(refused, err)

	// A write that expects another end of the history has no effect. Others of the call have.
	refused, err = journal.Append(ctx, first, []persistence.Write{
		{Entity: "alice", After: 5, ID: 2, Events: event(6, "deposited")},
	})
	for _, r := range refused {
		var refusal persistence.Refusal = r
		fmt.Println(refusal.Index, errors.Is(refusal.Err, persistence.ErrConflict), err)
	}

	second := stay(2)
	var fence persistence.Fencer = journal
	fmt.Println(fence.Fence(ctx, second))
	_, err = journal.Append(ctx, first, []persistence.Write{
		{Entity: "alice", After: 1, ID: 3, Events: event(2, "deposited")},
	})
	fmt.Println(errors.Is(err, persistence.ErrFenced))

	var ends []persistence.End
	alice := []persistence.Read{{Entity: "alice"}}
	ends, err = journal.Load(ctx, second, alice, func(_ int, e persistence.Event) error {
		fmt.Println(e.Seq, e.Name, e.Body)
		return nil
	})
	fmt.Println("last:", ends[0].Last, err)
	// Output:
	// [] <nil>
	// 0 true <nil>
	// <nil>
	// true
	// 1 deposited [100]
	// last: 1 <nil>
}

// The state of an entity after some event is kept beside the events.
func ExampleSnapshots() {
	ctx := context.Background()
	var snapshots persistence.Snapshots = &memory.Store{}
	_, err := snapshots.SaveSnapshots(ctx, stay(1), []persistence.Snapshot{
		{Entity: "alice", Seq: 10, Name: "balance", Version: 1, Body: []byte{42}, At: at},
	})
	newest := []persistence.SnapshotRead{{Entity: "alice"}}
	err = errors.Join(err, snapshots.LoadSnapshots(ctx, stay(1), newest, func(_ int, s persistence.Snapshot) error {
		fmt.Println(s.Seq, s.Name, s.Body)
		return nil
	}))
	fmt.Println(err)
	// Output:
	// 10 balance [42]
	// <nil>
}

// One value for each entity.
func ExampleStates() {
	ctx := context.Background()
	var states persistence.States = &memory.Store{}
	_, err := states.SaveStates(ctx, stay(1), []persistence.StateWrite{
		{
			Entity: "cart-42", ID: 1,
			State: persistence.State{Revision: 1, Name: "cart", Version: 1, Body: []byte{2}, At: at},
		},
	})
	carts := []protocol.EntityID{"cart-42"}
	err = errors.Join(err, states.LoadStates(ctx, stay(1), carts, func(_ int, s persistence.State) error {
		fmt.Println(s.Revision, s.Name, s.Body)
		return nil
	}))
	fmt.Println(err)
	// Output:
	// 1 cart [2]
	// <nil>
}

// All events of a type are read in pieces. Each goes on after the last event of the piece before.
func ExampleReader() {
	ctx := context.Background()
	store := &memory.Store{}
	for i, id := range []protocol.EntityID{"alice", "bob", "carol"} {
		if _, err := store.Append(ctx, stay(1), []persistence.Write{
			{Entity: id, ID: uint64(i), Events: event(1, "opened")},
		}); err != nil {
			fmt.Println(err)
		}
	}
	var reader persistence.Reader = store
	var last persistence.Offset // before the first event
	for range 2 {
		n := 0
		for r, err := range reader.Events(ctx, persistence.Query{Type: "Account", After: last}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			var event persistence.Recorded = r
			fmt.Println(event.Entity, event.Event.Name)
			if last = event.Offset; n == 1 {
				break
			}
			n++
		}
	}
	// Output:
	// "alice" opened
	// "bob" opened
	// "carol" opened
}

// A tool forgets what a type has stored, while no node runs.
func ExampleRemover() {
	ctx := context.Background()
	store := &memory.Store{}
	if _, err := store.Append(ctx, stay(1), []persistence.Write{
		{Entity: "alice", ID: 1, Events: event(1, "opened")},
	}); err != nil {
		fmt.Println(err)
	}
	var tool persistence.Remover = store
	var held persistence.Held
	held, err := tool.Holds(ctx, "Account")
	fmt.Println(held, err)
	held, err = tool.Remove(ctx, "Account")
	fmt.Println(held.Events, err)
	// Output:
	// shards=0 events=1 snapshots=0 states=0 <nil>
	// 1 <nil>
}
