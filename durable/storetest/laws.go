package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

func keyOrder(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	want(t, tbl)
	s.mustCommit(t, tbl, put("b", "2"), put("\xff", "5"), put("a", "1"), put("ab", "3"), put("\x00", "0"))
	want(t, tbl, "\x00=0", "a=1", "ab=3", "b=2", "\xff=5")
}

func lastWins(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	s.mustCommit(t, tbl, put("a", "1"), put("b", "1"), del("b"), put("a", "2"), del("c"), put("c", "1"))
	want(t, tbl, "a=2", "c=1")
}

func deletes(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	s.mustCommit(t, tbl, put("a", "1"), put("b", "1"))
	s.mustCommit(t, tbl, del("a"), del("missing"))
	want(t, tbl, "b=1")
}

func survives(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	s.mustCommit(t, tbl, put("a", "1"), put("b", "1"))
	s.mustCommit(t, tbl, del("a"), put("c", "2"))
	s.Env = s.Reopen(s.Env)
	want(t, s.table(t, "t"), "b=1", "c=2")
	want(t, s.table(t, "never written"))
}

func tablesApart(t *testing.T, s *Store) {
	a, b, node := s.table(t, "a"), s.table(t, "b"), s.table(t, "node")
	s.mustCommit(t, a, put("k", "a"))
	s.mustCommit(t, b, put("k", "b"), put("only b", "1"))
	s.mustCommit(t, a, del("only b"))
	want(t, a, "k=a")
	want(t, b, "k=b", "only b=1")
	want(t, node)
}

func oneName(t *testing.T, s *Store) {
	s.mustCommit(t, s.table(t, "t"), put("a", "1"))
	want(t, s.table(t, "t"), "a=1")
	if s.table(t, "t") != s.table(t, "t") {
		t.Error("two tables for one name")
	}
}

func answersInOrder(t *testing.T, s *Store) {
	a, b := s.table(t, "a"), s.table(t, "b")
	var mu sync.Mutex
	var order []int
	done := func(i int) func(error) {
		return func(err error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
			if bad := i%5 == 3; bad != errors.Is(err, durable.ErrBadRow) || !bad && err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
		}
	}
	const n = 500
	for i := range n {
		tbl := []durable.Table{a, b}[i%2]
		switch i % 5 {
		case 3:
			tbl.Commit([]durable.Row{put("", "no key")}, done(i))
		case 4:
			tbl.Commit(nil, done(i))
		default:
			tbl.Commit([]durable.Row{put(fmt.Sprintf("%04d", i), "v")}, done(i))
		}
	}
	s.mustCommit(t, a, put("last", "1")) // what is committed last is answered last
	mu.Lock()
	defer mu.Unlock()
	if len(order) != n || !slices.IsSorted(order) {
		t.Fatalf("answered %d of %d, in the order %v", len(order), n, order)
	}
}

func doneCommits(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	answers := make(chan int, 10)
	var next func(i int)
	next = func(i int) {
		tbl.Commit([]durable.Row{put(fmt.Sprint(i), "v")}, func(err error) {
			if err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
			answers <- i
			if i < 5 {
				next(i + 1)
			}
		})
	}
	next(1)
	s.settle()
	for i := 1; i <= 5; i++ {
		if got := <-answers; got != i {
			t.Fatalf("answer of %d, want %d", got, i)
		}
	}
	want(t, tbl, "1=v", "2=v", "3=v", "4=v", "5=v")
}

func barrier(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	written := false // done calls come one at a time
	tbl.Commit([]durable.Row{put("a", "1")}, func(error) { written = true })
	err := make(chan error, 1)
	tbl.Commit(nil, func(e error) {
		if !written {
			e = errors.New("answered before the batch in front of it")
		}
		err <- e
	})
	s.settle()
	if e := <-err; e != nil {
		t.Fatal(e)
	}
}

func badRowsAlone(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	bad := map[string][]durable.Row{
		"an empty key":   {put("x", "1"), put("", "1")},
		"a long key":     {put("x", "1"), put(strings.Repeat("k", durable.KeyMax+1), "1")},
		"an empty value": {put("x", "1"), {Key: []byte("y"), Value: []byte{}}},
	}
	for name, rows := range bad {
		var before, after error
		tbl.Commit([]durable.Row{put("before", "1")}, func(err error) { before = err })
		err := s.commit(tbl, rows...)
		tbl.Commit([]durable.Row{put("after", "1")}, func(err error) { after = err })
		s.mustCommit(t, tbl, put("last", "1"))
		if !errors.Is(err, durable.ErrBadRow) || !strings.Contains(err.Error(), s.Env.Dir()) {
			t.Errorf("%s: %v", name, err)
		}
		if before != nil || after != nil {
			t.Errorf("%s: the neighbours got %v and %v", name, before, after)
		}
		want(t, tbl, "after=1", "before=1", "last=1")
	}
}

func bounds(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	k, v := strings.Repeat("k", durable.KeyMax), strings.Repeat("v", 4<<20)
	s.mustCommit(t, tbl, put(k, v), put("k", "\x00"))
	want(t, tbl, "k=\x00", k+"="+v)
	many := make([]durable.Row, durable.BatchRowsMax+1)
	for i := range many {
		many[i] = del("k")
	}
	if err := s.commit(tbl, many...); !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("too many rows: %v", err)
	}
	want(t, tbl, "k=\x00", k+"="+v)
}

func badNames(t *testing.T, s *Store) {
	for _, name := range []string{"", strings.Repeat("n", durable.NameMax+1), "a\x00b"} {
		if _, err := s.Env.Table(name); !errors.Is(err, durable.ErrBadName) {
			t.Errorf("table %q: %v", name, err)
		}
	}
	s.table(t, strings.Repeat("n", durable.NameMax))
}

func loadStops(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	s.mustCommit(t, tbl, put("a", "1"), put("b", "1"), put("c", "1"))
	stop, seen := errors.New("enough"), 0
	err := tbl.Load(func(durable.Row) error {
		if seen++; seen == 2 {
			return stop
		}
		return nil
	})
	if err != stop || seen != 2 {
		t.Fatalf("load said %v after %d rows", err, seen)
	}
	s.mustCommit(t, tbl, put("d", "1"))
	want(t, tbl, "a=1", "b=1", "c=1", "d=1")
}

func closed(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	for range 2 {
		if err := s.Env.Close(); err != nil {
			t.Fatal(err)
		}
	}
	answer := errors.New("done was not called before Commit returned")
	tbl.Commit([]durable.Row{put("a", "1")}, func(err error) { answer = err })
	_, tableErr := s.Env.Table("t")
	loadErr := tbl.Load(func(durable.Row) error { return nil })
	for what, err := range map[string]error{"commit": answer, "table": tableErr, "load": loadErr} {
		if !errors.Is(err, durable.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func closeWrites(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	const n = 100
	answered := 0
	for i := range n {
		tbl.Commit([]durable.Row{put(fmt.Sprintf("%03d", i), "v")}, func(err error) {
			if err == nil {
				answered++
			}
		})
	}
	s.Env = s.Reopen(s.Env)
	if answered != n {
		t.Fatalf("%d of %d answered when Close returned", answered, n)
	}
	if got := load(t, s.table(t, "t")); len(got) != n {
		t.Fatalf("%d of %d rows", len(got), n)
	}
}

func manyCallers(t *testing.T, s *Store) {
	tbl := s.table(t, "t")
	const callers, each = 16, 20
	var answers, commits sync.WaitGroup
	answers.Add(callers * each)
	for c := range callers {
		commits.Go(func() {
			for i := range each {
				tbl.Commit([]durable.Row{put(fmt.Sprintf("%02d/%02d", c, i), "v")}, func(err error) {
					if err != nil {
						t.Errorf("caller %d batch %d: %v", c, i, err)
					}
					answers.Done()
				})
			}
		})
	}
	commits.Wait()
	s.settle()
	answers.Wait()
	if got := load(t, tbl); len(got) != callers*each {
		t.Fatalf("%d rows, want %d", len(got), callers*each)
	}
}
