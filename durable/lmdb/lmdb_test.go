package lmdb

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/storetest"
)

// childEnv names the role that this test binary plays when a test starts it as a process of its
// own.
const childEnv = "COTERIE_LMDB_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func TestLaws(t *testing.T) {
	storetest.Run(t, func(t testing.TB) *storetest.Store {
		dir := filepath.Join(t.TempDir(), "store")
		return &storetest.Store{Env: mustOpen(t, dir, Options{}), Reopen: func(env durable.Env) durable.Env {
			if err := env.Close(); err != nil {
				t.Fatal(err)
			}
			return mustOpen(t, dir, Options{})
		}}
	})
}

// onEvent is an Options.OnEvent for one kind of event.
func onEvent[E Event](hear func(E)) func(Event) {
	return func(e Event) {
		if e, ok := e.(E); ok {
			hear(e)
		}
	}
}

func mustOpen(t testing.TB, dir string, opts Options) *Env {
	t.Helper()
	e, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func mustTable(t testing.TB, e *Env, name string) durable.Table {
	t.Helper()
	tbl, err := e.Table(name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// commit commits and waits.
func commit(tbl durable.Table, rows ...durable.Row) error {
	answer := make(chan error, 1)
	tbl.Commit(rows, func(err error) { answer <- err })
	return <-answer
}

func mustCommit(t testing.TB, tbl durable.Table, rows ...durable.Row) {
	t.Helper()
	if err := commit(tbl, rows...); err != nil {
		t.Fatal(err)
	}
}

// row makes a row whose value has a given size and is not all zeros.
func row(key string, size int) durable.Row {
	v := make([]byte, size)
	for i := range v {
		v[i] = byte(i) | 1
	}
	return durable.Row{Key: []byte(key), Value: v}
}

func count(t testing.TB, tbl durable.Table) int {
	t.Helper()
	n := 0
	if err := tbl.Load(func(durable.Row) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
