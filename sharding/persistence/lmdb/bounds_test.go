package lmdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The bodies of one write have a bound together.
func TestWriteBytesMax(t *testing.T) {
	body := make([]byte, persistence.BodyMax)
	w := persistence.Write{Entity: "e"}
	for range WriteBytesMax / len(body) {
		w.Events = append(w.Events, persistence.Event{Name: "x", Body: body})
	}
	if err := checkWrite(w); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	w.Events = append(w.Events, persistence.Event{Name: "x", Body: body[:1]})
	if err := checkWrite(w); !errors.Is(err, persistence.ErrTooLarge) {
		t.Errorf("above the bound: %v", err)
	}
}

// A call that is larger than batchBytes goes on with another commit, whatever it stores.
func TestLargeCallsAreCut(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	body, ctx := make([]byte, batchBytes/2+1), t.Context()
	ids := []protocol.EntityID{"a", "b", "c"}
	calls := map[string]func() (refused []persistence.Refusal, err error){
		"Append": func() ([]persistence.Refusal, error) {
			var all []persistence.Write
			for _, id := range ids {
				all = append(all, write(id, 0, string(body)))
			}
			return s.Append(ctx, first, all)
		},
		"SaveSnapshots": func() ([]persistence.Refusal, error) {
			var all []persistence.Snapshot
			for _, id := range ids {
				all = append(all, persistence.Snapshot{Entity: id, Seq: 1, Body: body})
			}
			return s.SaveSnapshots(ctx, first, all)
		},
		"SaveStates": func() ([]persistence.Refusal, error) {
			var all []persistence.StateWrite
			for _, id := range ids {
				all = append(all, persistence.StateWrite{Entity: id, State: persistence.State{Revision: 1, Body: body}})
			}
			return s.SaveStates(ctx, first, all)
		},
	}
	for name, call := range calls { // order: each is by itself
		before := s.env.Stats().Batches
		if refused, err := call(); err != nil || len(refused) > 0 {
			t.Errorf("%s: %v, %v", name, refused, err)
		}
		if n := s.env.Stats().Batches - before; n != 2 {
			t.Errorf("%s: %d commits, want 2", name, n)
		}
	}
}

// More is deleted than one commit deletes.
func TestLargeDeletions(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	var snapshots []persistence.Snapshot
	w := write("e", 0, "x")
	for i := range uint64(2*deleteMax + 1) {
		snapshots = append(snapshots, persistence.Snapshot{Entity: "e", Seq: i + 1})
		if i > 0 {
			w.Events = append(w.Events, w.Events[0])
		}
	}
	mustStore(t, s, w)
	if refused, err := s.SaveSnapshots(t.Context(), first, snapshots); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	before, all := s.env.Stats().Batches, uint64(len(snapshots))
	err := errors.Join(s.DeleteSnapshots(t.Context(), first, "e", all), s.Delete(t.Context(), first, "e", all))
	if err != nil {
		t.Fatal(err)
	}
	if n := s.env.Stats().Batches - before; n != 6 {
		t.Errorf("%d commits, want 3 for each", n)
	}
	for _, r := range s.rows(t) {
		if bytes.IndexByte([]byte{kindSnapshot, kindEvent, kindEntry}, r.Key[0]) >= 0 {
			t.Fatalf("a row of kind %q is left", r.Key[0])
		}
	}
}

// A load ends between two events when its context does.
func TestLoadIsGivenUp(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for i := range uint64(3) {
		mustStore(t, s, write("e", i, fmt.Sprint(i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	_, err := s.Load(ctx, first, []persistence.Read{{Entity: "e"}}, func(int, persistence.Event) error {
		n++
		cancel()
		return nil
	})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d events after the end, %v", n-1, err)
	}
}

// A call that is given up while it waits for its turn leaves the line.
func TestTurnIsLeft(t *testing.T) {
	var ts turns
	giveBack, err := ts.take(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ts.take(gone, first); !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that another has: %v", err)
	}
	giveBack()
	if len(ts.places) > 0 {
		t.Errorf("%d turns are kept", len(ts.places))
	}
}
