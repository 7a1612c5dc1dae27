package durable_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reopened closes a Memory and gives one over the same rows.
func reopened(env durable.Env) *durable.Memory {
	_ = env.Close()
	return env.(*durable.Memory).Crash()
}

func TestMemoryLaws(t *testing.T) {
	t.Run("told to flush", func(t *testing.T) {
		storetest.Run(t, func(testing.TB) *storetest.Store {
			m := durable.NewMemory()
			s := &storetest.Store{Env: m, Settle: func() { m.Flush() }}
			s.Reopen = func(env durable.Env) durable.Env {
				m = reopened(env)
				return m
			}
			return s
		})
	})
	t.Run("flushing by itself", func(t *testing.T) {
		storetest.Run(t, func(testing.TB) *storetest.Store {
			return &storetest.Store{
				Env:    durable.NewMemory().AutoFlush(true),
				Reopen: func(env durable.Env) durable.Env { return reopened(env) },
			}
		})
	})
}

// log commits rows "1", "2", … to a table and keeps the answers.
type log struct {
	t       *testing.T
	table   durable.Table
	n       int
	answers []string
}

func newLog(t *testing.T, m *durable.Memory) *log {
	t.Helper()
	table, err := m.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	return &log{t: t, table: table}
}

func (l *log) commit() {
	l.n++
	n := l.n
	l.table.Commit([]durable.Row{{Key: fmt.Append(nil, n), Value: []byte{1}}}, func(err error) {
		l.answers = append(l.answers, fmt.Sprint(n, err))
	})
}

func (l *log) answered(want ...string) {
	l.t.Helper()
	if !slices.Equal(l.answers, want) {
		l.t.Fatalf("answers %q, want %q", l.answers, want)
	}
}

func (l *log) holds(want ...string) {
	l.t.Helper()
	var got []string
	if err := l.table.Load(func(r durable.Row) error { got = append(got, string(r.Key)); return nil }); err != nil {
		l.t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		l.t.Fatalf("rows %q, want %q", got, want)
	}
}

func TestMemoryWaitsForFlush(t *testing.T) {
	m := durable.NewMemory()
	l := newLog(t, m)
	l.commit()
	l.commit()
	l.commit()
	l.answered()
	l.holds()
	if n := m.FlushN(2); n != 2 || m.Pending() != 1 {
		t.Fatalf("flushed %d, %d wait", n, m.Pending())
	}
	l.answered("1 <nil>", "2 <nil>")
	l.holds("1", "2")
	if n := m.Flush(); n != 1 || m.Pending() != 0 {
		t.Fatalf("flushed %d, %d wait", n, m.Pending())
	}
	l.holds("1", "2", "3")
}

func TestMemoryCrashForgetsWhatWaits(t *testing.T) {
	m := durable.NewMemory()
	l := newLog(t, m)
	l.commit()
	l.commit()
	m.FlushN(1)
	next := m.Crash()
	l.commit()
	if n := m.Flush(); n != 0 {
		t.Fatalf("the crashed one flushed %d", n)
	}
	l.answered("1 <nil>")
	if err := l.table.Load(func(durable.Row) error { return nil }); !errors.Is(err, durable.ErrClosed) {
		t.Fatalf("the crashed one loads: %v", err)
	}
	after := newLog(t, next)
	after.holds("1")
	after.n = 6
	after.commit()
	next.Flush()
	after.holds("1", "7")
	twice := newLog(t, next.Crash())
	twice.holds("1", "7")
}

func TestMemoryFailsWhenTold(t *testing.T) {
	m := durable.NewMemory()
	l := newLog(t, m)
	m.FailNext(durable.ErrFull)
	m.FailNext(durable.ErrIO)
	l.commit()
	l.commit()
	l.commit()
	m.Flush()
	l.answered("1 "+durable.ErrFull.Error(), "2 "+durable.ErrIO.Error(), "3 <nil>")
	l.holds("3")
	m.FailNext(durable.ErrFull)
	next := newLog(t, m.Crash())
	next.commit()
	next.answered()
	next.holds("3")
}

func TestMemoryAutoFlush(t *testing.T) {
	m := durable.NewMemory()
	l := newLog(t, m)
	l.commit()
	m.AutoFlush(true)
	l.commit()
	l.answered("1 <nil>", "2 <nil>")
	next := newLog(t, m.Crash())
	next.commit()
	next.answered("1 <nil>")
	m = durable.NewMemory().AutoFlush(true).AutoFlush(false)
	l = newLog(t, m)
	l.commit()
	l.answered()
}

func TestErrorSaysWhatAndWhereAndWhatToDo(t *testing.T) {
	cause := errors.New("permission denied")
	err := error(&durable.Error{
		Kind: durable.ErrUnwritable, Path: "/var/lib/shop", Detail: "it is a file",
		Cause: cause, Remedy: "name another one",
	})
	const text = "durable: directory is not writable: /var/lib/shop: it is a file: permission denied; name another one"
	if err.Error() != text {
		t.Errorf("got  %s\nwant %s", err, text)
	}
	if !errors.Is(err, durable.ErrUnwritable) || !errors.Is(err, cause) || errors.Is(err, durable.ErrFull) {
		t.Error("the error does not match what it wraps, or matches more")
	}
}

func TestMemoryCrashesWhileItWrites(t *testing.T) {
	rows := func(keys ...string) (out []durable.Row) {
		for _, k := range keys {
			out = append(out, durable.Row{Key: []byte(k), Value: []byte{1}})
		}
		return out
	}
	for _, c := range []struct {
		batches, rows int
		want          []string
	}{
		{0, 0, []string{"a"}},
		{1, 0, []string{"a", "b", "c"}},
		{1, 1, []string{"a", "b", "c", "d"}},
		{1, 9, []string{"a", "b", "c", "d", "e"}},
		{2, 1, []string{"a", "b", "c", "d", "e"}}, // the third was refused
		{9, 9, []string{"a", "b", "c", "d", "e", "f"}},
	} {
		m := durable.NewMemory()
		l := newLog(t, m)
		ignore := func(error) {}
		l.table.Commit(rows("a"), ignore)
		m.Flush()
		l.table.Commit(rows("b", "c"), ignore)
		l.table.Commit(rows("d", "e"), ignore)
		l.table.Commit(rows("z", ""), ignore)
		l.table.Commit(rows("f"), ignore)
		newLog(t, m.CrashWriting(c.batches, c.rows)).holds(c.want...)
		if n := m.Flush(); n != 0 {
			t.Errorf("the crashed one flushed %d", n)
		}
	}
}

func TestMemoryCopyIsItsOwn(t *testing.T) {
	m := durable.NewMemory()
	l := newLog(t, m)
	l.commit()
	m.Flush()
	was := m.Copy()
	l.commit()
	m.Flush()
	newLog(t, was).holds("1")
	l.holds("1", "2")
}

func TestMemoryFailsOneTable(t *testing.T) {
	m := durable.NewMemory()
	other, err := m.Table("other")
	if err != nil {
		t.Fatal(err)
	}
	m.FailCommits(func(table string) error {
		if table == "t" {
			return durable.ErrIO
		}
		return nil
	})
	l := newLog(t, m)
	l.commit()
	answer := errors.New("none")
	other.Commit(nil, func(err error) { answer = err })
	m.Flush()
	m.FailCommits(nil)
	l.commit()
	m.Flush()
	l.answered("1 "+durable.ErrIO.Error(), "2 <nil>")
	if l.holds("2"); answer != nil {
		t.Errorf("the other table got %v", answer)
	}
}

func TestMemoryFailsLoads(t *testing.T) {
	m := durable.NewMemory().AutoFlush(true)
	l := newLog(t, m)
	l.commit()
	l.commit()
	for bad := range 3 {
		seen := 0
		m.FailLoads(func(table string, row int) error {
			if table == "t" && row == bad {
				return durable.ErrIO
			}
			return nil
		})
		err := l.table.Load(func(durable.Row) error { seen++; return nil })
		if !errors.Is(err, durable.ErrIO) || seen != bad {
			t.Errorf("failing at row %d: %v after %d rows", bad, err, seen)
		}
	}
	m.FailLoads(nil)
	l.holds("1", "2")
}
