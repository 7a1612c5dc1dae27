package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// openAlone opens a schema for this test alone.
func openAlone(t *testing.T, schema string) (*postgres.Store, error) {
	t.Helper()
	c := config(t, suite.Server(t).DSN(), schema)
	c.Alone = true
	return postgres.Open(t.Context(), c)
}

// A program that wants a schema alone, and one that has it open, keep each other out. Other schemas
// are open meanwhile.
func TestAlone(t *testing.T) {
	schema := newSchema()
	shared, err := postgres.Open(t.Context(), config(t, suite.Server(t).DSN(), schema))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := openAlone(t, schema); !errors.Is(err, postgres.ErrInUse) {
		t.Errorf("alone beside another: %v", err)
		if err == nil {
			s.Close()
		}
	} else if n := strings.Count(err.Error(), "postgres:"); n != 1 {
		t.Errorf("%d times the name of the package: %v", n, err)
	}
	shared.Close()
	alone, err := openAlone(t, schema)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := postgres.Open(t.Context(), config(t, suite.Server(t).DSN(), schema)); !errors.Is(err,
		postgres.ErrInUse) {
		t.Errorf("beside one that is alone: %v", err)
		if err == nil {
			s.Close()
		}
	}
	open(t, newSchema())
	alone.Close()
	open(t, schema)
}

// What is removed begins anew: numbers, tokens and all. Other types stay. A store that is not alone
// removes nothing.
func TestRemove(t *testing.T) {
	schema := newSchema()
	if _, err := open(t, schema).Remove(t.Context(), "cart"); err == nil {
		t.Error("a store that is shared removes a type")
	}
	schema = newSchema()
	s, err := openAlone(t, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := hosting(1, 7)
	other := h
	other.Type = "other"
	for _, h := range []persistence.Hosting{h, other} {
		fence(t, s, h)
		store(t, s, h, write("a", 0, 1, "one", "two"), write("b", 0, 2, "three"))
		snapshot := persistence.Snapshot{Entity: "a", Seq: 2, Body: []byte{1}}
		if _, err := s.SaveSnapshots(t.Context(), h, []persistence.Snapshot{snapshot}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SaveStates(t.Context(), h, []persistence.StateWrite{{Entity: "c", ID: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), h, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	want := persistence.Held{Shards: 1, Events: 2, Snapshots: 1, States: 1}
	if held, err := s.Holds(t.Context(), "cart"); err != nil || held != want {
		t.Errorf("it holds %v, %v", held, err)
	}
	if held, err := s.Remove(t.Context(), "cart"); err != nil || held != want {
		t.Errorf("it removed %v, %v", held, err)
	}
	for range 2 { // the second finds nothing
		if held, err := s.Remove(t.Context(), "cart"); err != nil || held != (persistence.Held{}) {
			t.Errorf("it removed %v more, %v", held, err)
		}
	}
	if held, err := s.Remove(t.Context(), "none"); err != nil || held != (persistence.Held{}) {
		t.Errorf("of a type that is not there it removed %v, %v", held, err)
	}
	if held, err := s.Holds(t.Context(), "other"); err != nil || held != want {
		t.Errorf("of the other type there is %v, %v", held, err)
	}
	early := hosting(1, 2) // below the token that was there
	fence(t, s, early)
	store(t, s, early, write("a", 0, 1, "anew"))
	if got := load(t, s, early, "a"); len(got) != 1 || got[0] != "anew" {
		t.Errorf("the new history is %q", got)
	}
}
