package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

// Store is an implementation under test.
type Store struct {
	// Env is open and empty.
	Env durable.Env
	// Settle makes durable and answers all that was committed so far. Nil when Env does so by
	// itself.
	Settle func()
	// Reopen closes env and opens what is durable of it again.
	Reopen func(env durable.Env) durable.Env
}

// Run holds an implementation to the laws. open is called once for each law, and once for each
// random history.
func Run(t *testing.T, open func(t testing.TB) *Store) {
	laws := []struct {
		name string
		law  func(*testing.T, *Store)
	}{
		{"rows come back in key order", keyOrder},
		{"a later row of a batch wins", lastWins},
		{"nil deletes, and deleting what is missing is no error", deletes},
		{"rows survive reopening", survives},
		{"tables are apart", tablesApart},
		{"one name is one table", oneName},
		{"done is called once, in order, with refusals in their turn", answersInOrder},
		{"done may commit", doneCommits},
		{"a batch without rows is a barrier", barrier},
		{"a bad row costs no other row anything", badRowsAlone},
		{"the longest key, the largest value", bounds},
		{"bad names are refused", badNames},
		{"load stops at the error of its function", loadStops},
		{"a closed store says so", closed},
		{"close writes what waits", closeWrites},
		{"many goroutines commit", manyCallers},
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			s := open(t)
			l.law(t, s)
			if err := s.Env.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("random histories agree with a map", func(t *testing.T) { histories(t, open) })
}

// fataler is what testing.TB and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (s *Store) table(t fataler, name string) durable.Table {
	t.Helper()
	tbl, err := s.Env.Table(name)
	if err != nil {
		t.Fatalf("table %q: %v", name, err)
	}
	return tbl
}

func (s *Store) settle() {
	if s.Settle != nil {
		s.Settle()
	}
}

// commit commits and waits for the answer.
func (s *Store) commit(tbl durable.Table, rows ...durable.Row) error {
	answer := make(chan error, 2)
	tbl.Commit(rows, func(err error) { answer <- err })
	s.settle()
	return <-answer
}

func (s *Store) mustCommit(t fataler, tbl durable.Table, rows ...durable.Row) {
	t.Helper()
	if err := s.commit(tbl, rows...); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// put and del make rows of text.
func put(k, v string) durable.Row { return durable.Row{Key: []byte(k), Value: []byte(v)} }
func del(k string) durable.Row    { return durable.Row{Key: []byte(k)} }

// load returns the rows as "key=value" and checks their order.
func load(t fataler, tbl durable.Table) []string {
	t.Helper()
	out := []string{}
	var last []byte
	err := tbl.Load(func(r durable.Row) error {
		if len(out) > 0 && bytes.Compare(last, r.Key) >= 0 {
			t.Fatalf("key %q comes after %q", r.Key, last)
		}
		last = append(last[:0], r.Key...)
		out = append(out, string(r.Key)+"="+string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return out
}

func want(t fataler, tbl durable.Table, rows ...string) {
	t.Helper()
	if got := load(t, tbl); !slices.Equal(got, rows) {
		t.Fatalf("loaded %s, want %s", short(got), short(rows))
	}
}

func short(rows []string) string {
	s := fmt.Sprintf("%q", rows)
	if len(s) > 400 {
		s = fmt.Sprintf("%d rows, %s…", len(rows), s[:400])
	}
	return s
}

// Damage takes the last row out of a table, closes the store, and so leaves rows that do not add up
// to what was written with them.
func Damage(t testing.TB, env durable.Env, table string) {
	t.Helper()
	s := &Store{Env: env}
	tbl := s.table(t, table)
	var last []byte
	if err := tbl.Load(func(r durable.Row) error { last = bytes.Clone(r.Key); return nil }); err != nil || last == nil {
		t.Fatalf("table %q has no row to lose: %v", table, err)
	}
	s.mustCommit(t, tbl, durable.Row{Key: last})
	if err := env.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}
