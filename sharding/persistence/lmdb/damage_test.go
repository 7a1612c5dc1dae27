package lmdb

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// rows returns what is stored.
func (s *Store) rows(t testing.TB) (out []durable.Row) {
	t.Helper()
	if err := s.table.Load(func(r durable.Row) error {
		out = append(out, durable.Row{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *Store) put(t testing.TB, rows ...durable.Row) {
	t.Helper()
	answer := make(chan error, 1)
	s.table.Commit(rows, func(err error) { answer <- err })
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
}

// fill stores something of each kind.
func fill(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Fence(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, write("e", 0, "1"), write("other", 0, "1"))
	mustStore(t, s, write("e", 1, "2"))
	at := write("", 0, "").Events[0].At
	_, err := s.SaveSnapshots(t.Context(), first, []persistence.Snapshot{
		{Entity: "e", Seq: 1, Name: "account", Version: 1, Body: []byte("s"), At: at},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.SaveStates(t.Context(), first, []persistence.StateWrite{
		{Entity: "e", ID: 1, State: persistence.State{Name: "account", Version: 1, Body: []byte("v"), At: at}},
		{Entity: "other", ID: 1, State: persistence.State{Name: "account", Version: 1, Body: []byte("v"), At: at}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readAll reads everything that fill has stored, and returns all errors. A snapshot without a body
// is one.
func readAll(ctx context.Context, s *Store) error {
	_, err := s.Load(ctx, first, []persistence.Read{{Entity: "e"}, {Entity: "other"}},
		func(int, persistence.Event) error { return nil })
	errs := []error{err}
	n := 0
	errs = append(errs, s.LoadSnapshots(ctx, first, []persistence.SnapshotRead{{Entity: "e"}},
		func(_ int, snapshot persistence.Snapshot) error {
			if n++; snapshot.Body == nil {
				return persistence.ErrDamaged
			}
			return nil
		}))
	errs = append(errs, s.LoadStates(ctx, first, []protocol.EntityID{"e", "other"},
		func(int, persistence.State) error { n++; return nil }))
	for _, err := range s.Events(ctx, persistence.Query{Type: first.Type}) {
		n++
		errs = append(errs, err)
	}
	errs = append(errs, s.env.Moment(s.table, func(v *disk.Moment) error { _, err := readNumber(v); return err }))
	return errors.Join(errs...)
}

// Each flipped bit, and each cut, of each value is found.
func TestDamage(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	fill(t, s)
	if err := readAll(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, row := range s.rows(t) {
		for i := range row.Value {
			bad := bytes.Clone(row.Value)
			bad[i] ^= 1 << (i % 8)
			s.put(t, durable.Row{Key: row.Key, Value: bad})
			err := readAll(t.Context(), s)
			if !errors.Is(err, persistence.ErrDamaged) && (i > 0 || !errors.Is(err, persistence.ErrVersion)) {
				t.Errorf("byte %d of %q: %v", i, row.Key, err)
			}
			if i > 0 {
				s.put(t, durable.Row{Key: row.Key, Value: row.Value[:i]})
				if err := readAll(t.Context(), s); !errors.Is(err, persistence.ErrDamaged) {
					t.Errorf("%d bytes of %q: %v", i, row.Key, err)
				}
			}
		}
		s.put(t, row)
	}
	if err := readAll(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// Damage is told with the entity and the number, costs no other entity anything, and can be deleted.
func TestDamageIsNamed(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	fill(t, s)
	of := refOf(first.Type, "e")
	whole := s.rows(t)
	spoil := func(key []byte) {
		at := slices.IndexFunc(whole, func(r durable.Row) bool { return bytes.Equal(r.Key, key) })
		bad := bytes.Clone(whole[at].Value)
		bad[len(bad)-1] ^= 1
		s.put(t, durable.Row{Key: key, Value: bad})
	}
	named := func(what string, err error, parts ...string) {
		t.Helper()
		for _, part := range append(parts, `"account"`) {
			if !errors.Is(err, persistence.ErrDamaged) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want it to name %s", what, err, part)
			}
		}
	}
	spoil(of.keyAt(kindEvent, 2))
	_, err := s.bodies("e")
	named("load", err, `"e"`, "event 2")
	if got, err := s.bodies("other"); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	s.put(t, durable.Row{Key: of.keyAt(kindEvent, 2)})
	_, err = s.bodies("e")
	named("load of what is missing", err, `"e"`, "event 2")
	if err := readAll(t.Context(), s); !errors.Is(err, persistence.ErrDamaged) {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), first, "e", 2); err != nil {
		t.Error(err)
	}
	if err := readAll(t.Context(), s); err != nil {
		t.Error(err)
	}
	spoil(of.key(kindHead))
	named("append", s.store(first, write("e", 2, "3")), `"e"`)
	mustStore(t, s, write("other", 1, "2"))
	spoil(of.key(kindState))
	loaded := 0
	err = s.LoadStates(t.Context(), first, []protocol.EntityID{"e", "other"},
		func(int, persistence.State) error { loaded++; return nil })
	if named("states", err, `"e"`); loaded != 1 {
		t.Errorf("%d states beside a damaged one", loaded)
	}
	spoil(fenceKey(first))
	named("fence", s.Fence(t.Context(), first), "shard 1")
}
