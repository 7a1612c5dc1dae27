package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestLaws(t *testing.T) {
	persistencetest.Run(t, func(testing.TB) *persistencetest.Opened {
		s := &memory.Store{}
		door := persistencetest.DoorOf(s)
		return &persistencetest.Opened{A: door, B: door, Damage: s.Damage}
	})
}

// calls makes each call of a store once, and returns their errors.
func calls(ctx context.Context, s *memory.Store) map[string]error {
	h := persistence.Hosting{Type: "t"}
	errs := map[string]error{}
	errs["Fence"] = s.Fence(ctx, h)
	_, errs["Append"] = s.Append(ctx, h, []persistence.Write{{Entity: "e", Events: make([]persistence.Event, 1)}})
	_, errs["Load"] = s.Load(ctx, h, nil, nil)
	_, errs["SaveSnapshots"] = s.SaveSnapshots(ctx, h, []persistence.Snapshot{{Entity: "e", Seq: 1}})
	errs["LoadSnapshots"] = s.LoadSnapshots(ctx, h, nil, nil)
	_, errs["SaveStates"] = s.SaveStates(ctx, h, []persistence.StateWrite{{Entity: "e"}})
	errs["LoadStates"] = s.LoadStates(ctx, h, nil, nil)
	errs["Delete"] = s.Delete(ctx, h, "other", 1)
	errs["DeleteSnapshots"] = s.DeleteSnapshots(ctx, h, "other", 1)
	return errs
}

// holds counts what is kept of the entity that calls writes.
func holds(t *testing.T, s *memory.Store) (events, snapshots, states int) {
	t.Helper()
	h := persistence.Hosting{Type: "t"}
	ends, err := s.Load(t.Context(), h, []persistence.Read{{Entity: "e"}},
		func(int, persistence.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		s.LoadSnapshots(t.Context(), h, []persistence.SnapshotRead{{Entity: "e"}},
			func(int, persistence.Snapshot) error { snapshots++; return nil }),
		s.LoadStates(t.Context(), h, []protocol.EntityID{"e"},
			func(int, persistence.State) error { states++; return nil }))
	if err != nil {
		t.Fatal(err)
	}
	return int(ends[0].Last), snapshots, states
}

// A call that fails before its effect has none, and one whose answer is lost has its effect.
func TestHooks(t *testing.T) {
	for name, want := range map[string]int{"before": 0, "after": 1} {
		t.Run(name, func(t *testing.T) {
			s, lost := &memory.Store{}, errors.New("lost")
			heard := map[string]bool{}
			hook := func(_ context.Context, call string) error { heard[call] = true; return lost }
			set := map[string]func(memory.Hook){"before": s.Before, "after": s.After}[name]
			set(hook)
			for call, err := range calls(t.Context(), s) {
				if !errors.Is(err, lost) || !heard[call] {
					t.Errorf("%s: %v, heard of: %v", call, err, heard[call])
				}
			}
			set(nil)
			if events, snapshots, states := holds(t, s); events != want || snapshots != want || states != want {
				t.Errorf("%d events, %d snapshots, %d states, want %d of each", events, snapshots, states, want)
			}
			for call, err := range calls(t.Context(), s) {
				if err != nil {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

// The hook of a query may fail it.
func TestHookOfReader(t *testing.T) {
	s, lost := &memory.Store{}, errors.New("lost")
	s.Before(func(context.Context, string) error { return lost })
	for _, err := range s.Events(t.Context(), persistence.Query{}) {
		if !errors.Is(err, lost) {
			t.Error(err)
		}
		return
	}
	t.Error("no error")
}

// What is removed of a type no call and no query finds. Offsets stay what they were.
func TestRemove(t *testing.T) {
	s := &memory.Store{}
	for call, err := range calls(t.Context(), s) {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	want := persistence.Held{Shards: 1, Events: 1, Snapshots: 1, States: 1}
	for range 2 {
		if held, err := s.Remove(t.Context(), "other"); err != nil || held != (persistence.Held{}) {
			t.Errorf("of another type it removed %v, %v", held, err)
		}
	}
	if held, err := s.Holds(t.Context(), "t"); err != nil || held != want {
		t.Errorf("it holds %v, %v", held, err)
	}
	if held, err := s.Remove(t.Context(), "t"); err != nil || held != want {
		t.Errorf("it removed %v, %v", held, err)
	}
	if events, snapshots, states := holds(t, s); events+snapshots+states > 0 {
		t.Errorf("%d events, %d snapshots, %d states are left", events, snapshots, states)
	}
	all := persistence.Query{Type: "t"}
	for r, err := range s.Events(t.Context(), all) {
		t.Errorf("a query finds %v, %v", r, err)
	}
	for call, err := range calls(t.Context(), s) {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	for r, err := range s.Events(t.Context(), all) {
		if err != nil || r.Offset != "2" {
			t.Errorf("the new event has the offset %q, %v", r.Offset, err)
		}
	}
}

func ExampleStore() {
	var s memory.Store
	h := persistence.Hosting{Type: "account", Shard: 1}
	w := persistence.Write{Entity: "17", ID: 1, Events: []persistence.Event{{Name: "opened", Body: []byte("{}")}}}
	var lost memory.Hook = func(context.Context, string) error { return errors.New("the answer is lost") }
	s.After(lost)
	_, err := s.Append(context.Background(), h, []persistence.Write{w})
	fmt.Println(err)
	s.After(nil)
	refused, err := s.Append(context.Background(), h, []persistence.Write{w}) // repeated: stored once
	fmt.Println(refused, err)
	all := persistence.Query{Type: "account"}
	for r := range s.Events(context.Background(), all) {
		fmt.Println(r.Entity, r.Event.Seq, r.Event.Name)
	}
	// Output:
	// the answer is lost
	// [] <nil>
	// "17" 1 opened
}

// Nodes compare stores by their IDs: each store in memory has one of its own.
func TestID(t *testing.T) {
	var a, b memory.Store
	first := a.ID()
	if again := a.ID(); again != first || b.ID() == first {
		t.Errorf("%s, %s and %s", first, again, b.ID())
	}
}
