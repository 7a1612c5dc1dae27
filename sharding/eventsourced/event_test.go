package eventsourced

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// puts stores events of "a" that an earlier program may have written.
func (s *shelf) puts(events ...persistence.Event) {
	s.of("a", func(x *history) { x.events = append(x.events, events...) })
}

// formerly is the stored form of an event of an earlier program.
func formerly(t *testing.T, seq uint64, name string, version uint32, v any) persistence.Event {
	t.Helper()
	x, err := schema.CBOR(schema.Type(name, v)).Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return persistence.Event{Seq: seq, Name: name, Version: version, Body: x.Body}
}

type (
	addedV1 struct{ Text string }
	addedV2 struct{ Number int }
)

// changed is the behavior of a program that has changed its events twice.
func changed() Behavior[command, event, sum] {
	b := sums()
	b.Events = schema.CBOR(
		schema.Type[event]("evil", evil{}),
		schema.Type[event]("added", added{},
			schema.From(func(v addedV1) (addedV2, error) {
				var n int
				_, err := fmt.Sscan(v.Text, &n)
				return addedV2{n}, err
			}),
			schema.From(func(v addedV2) (added, error) {
				if v.Number == 13 {
					panic("thirteen")
				}
				return added{v.Number}, nil
			})))
	return b
}

// Events of former versions go through their up-casters, one version after the other.
func TestUpCasters(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		s.puts(formerly(t, 1, "added", 1, addedV1{"7"}), formerly(t, 2, "added", 2, addedV2{5}),
			formerly(t, 3, "added", 3, added{3}))
		g := single(t, s, changed())
		wants(t, g, "a", get{}, 15)
		wants(t, g, "a", add{N: 1}, 16)
		s.of("a", func(x *history) {
			if e := x.events[3]; e.Version != 3 || e.Seq != 4 {
				t.Errorf("written as %v", e)
			}
		})
	})
}

// A stored event that cannot be read or applied is the failure of its entity, which names it. Others
// go on.
func TestPoisonedEvents(t *testing.T) {
	for name, c := range map[string]struct {
		event persistence.Event
		want  error // nil: a panic
		text  string
	}{
		"unknown": {formerly(t, 2, "removed", 1, added{1}), schema.ErrUnknown,
			`read event number 2 ("removed", version 1)`},
		"newer":     {formerly(t, 2, "added", 4, added{1}), schema.ErrNewer, `number 2 ("added", version 4)`},
		"no value":  {persistence.Event{Seq: 2, Name: "added", Version: 3}, schema.ErrDecoding, `number 2 ("added"`},
		"no number": {formerly(t, 2, "added", 1, addedV1{"x"}), schema.ErrUpcast, `number 2 ("added", version 1)`},
		"up-caster": {formerly(t, 2, "added", 2, addedV2{13}), nil, `number 2 ("added", version 2)`},
		"apply":     {formerly(t, 2, "evil", 1, evil{}), nil, `apply event number 2 ("evil", version 1)`},
		"gap":       {formerly(t, 3, "added", 3, added{1}), persistence.ErrDamaged, "the number 3"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newShelf()
				s.puts(formerly(t, 1, "added", 3, added{1}), c.event)
				typ := sumType()
				typ.Supervision.Decide = sharding.Always(sharding.Stop)
				failures := make(chan sharding.Failure, 1000)
				typ.OnEvent = eventstest.On(func(f sharding.Failure) { failures <- f })
				g := nodeOf(t, s.on(typ, changed()))
				got := <-asks(t, g, "a", get{})
				if !errors.Is(got.err, sharding.ErrHandler) || !strings.Contains(got.err.Error(), c.text) {
					t.Errorf("an asker hears of %v", got.err)
				}
				f, is := errors.AsType[*Failure]((<-failures).Err)
				if !is || f.Entity != "a" || f.Type != "sum" || f.Seq != 2 {
					t.Fatal(f)
				}
				if _, panicked := errors.AsType[*sharding.PanicError](f); panicked != (c.want == nil) ||
					c.want != nil && !errors.Is(f, c.want) {
					t.Error(f)
				}
				wants(t, g, "b", add{N: 2}, 2)
				if n := s.called("load"); n != 2 {
					t.Errorf("%d loads: one for each question is enough", n)
				}
			})
		})
	}
}

// All that is missing in a behavior is said together.
func TestValidate(t *testing.T) {
	_, err := Persist(sumType(), Behavior[command, event, sum]{
		Snapshot: Snapshot[sum]{Every: -1, Keep: 101, OnStop: true},
	})
	for _, want := range []string{
		`"sum"`, "Journal: is missing", "Events: ", "Handle: is missing", "Apply: is missing", "Snapshot.Every: -1",
		"Snapshot.Keep: is 101", "Snapshot.Store: is missing",
	} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	err = Behavior[command, event, any]{Snapshot: Snapshot[any]{Every: 1}}.Validate()
	if !strings.Contains(fmt.Sprint(err), "Snapshot.Schema: ") {
		t.Errorf("a state without a type: %v", err)
	}
	typ, b := sumType(), sums()
	b.Journal, b.Calls, typ.Timeouts.Ask = newShelf(), batch.Settings{GiveUpAfter: 3 * time.Second}, 3*time.Second
	if _, err = Persist(typ, b); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Timeouts.Ask") {
		t.Errorf("askers are given up before writes: %v", err)
	}
	b = sums()
	b.Journal, b.Snapshot.Store = (*shelf)(nil), (*shelf)(nil)
	err = b.Validate()
	for _, field := range []string{"Journal", "Snapshot.Store"} {
		if !strings.Contains(fmt.Sprint(err), field+": is a *eventsourced.shelf that is nil") {
			t.Errorf("a store that is a nil pointer: %v", err)
		}
	}
}

// Nodes compare where a type keeps its events, and its snapshots if these stand for deleted events.
func TestStoresAreCompared(t *testing.T) {
	b, other := sums(), newShelf()
	b.Journal, b.Snapshot = newShelf(), Snapshot[sum]{OnStop: true, Store: other}
	for _, deletes := range []bool{false, true} {
		b.Snapshot.DeleteEvents = deletes
		typ, err := Persist(sumType(), b)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{b.Journal}
		if deletes {
			want = append(want, other)
		}
		if !slices.Equal(typ.StateStores, want) {
			t.Errorf("compared are %v", typ.StateStores)
		}
	}
}

// The stores that nodes compare are those of the behavior: a type that names others is refused.
func TestStoresAreNamedOnce(t *testing.T) {
	b, typ := sums(), sumType()
	b.Journal, typ.StateStores = newShelf(), []any{newShelf()}
	if _, err := Persist(typ, b); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "StateStores is set") {
		t.Error(err)
	}
}
