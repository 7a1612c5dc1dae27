package lmdb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// stall makes the writer wait inside a done until the returned function is called; meanwhile
// everything queues.
func stall(t *testing.T, tbl durable.Table) (resume func()) {
	t.Helper()
	stalled, release := make(chan struct{}), make(chan struct{})
	tbl.Commit(nil, func(error) {
		close(stalled)
		<-release
	})
	<-stalled
	return sync.OnceFunc(func() { close(release) })
}

func TestWhatWaitsGoesInOneTransaction(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{})
	tbl := mustTable(t, e, "t")
	mustCommit(t, tbl, row("first", 1))
	before := e.Stats()
	resume := stall(t, tbl)
	var answers sync.WaitGroup
	answers.Add(100)
	for i := range 100 {
		tbl.Commit([]durable.Row{row(fmt.Sprint(i), 10), row("all", 1+i)}, func(err error) {
			if err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
			answers.Done()
		})
	}
	resume()
	answers.Wait()
	after := e.Stats()
	if commits := after.Commits - before.Commits; commits != 1 {
		t.Errorf("%d transactions for what waited, want 1", commits)
	}
	if after.Batches-before.Batches != 101 || after.Rows-before.Rows != 200 || after.Bytes-before.Bytes != 6540 ||
		after.Failed+after.Refused > 0 {
		t.Errorf("counts before %+v and after %+v", before, after)
	}
	if n := count(t, tbl); n != 102 {
		t.Errorf("%d rows", n)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	batch := func(rows, size int) request { return request{rows: make([]durable.Row, rows), size: size} }
	opening := request{open: true}
	for _, c := range []struct {
		name    string
		waiting []request
		want    int
	}{
		{"all that fit", []request{batch(4000, 1), batch(96, 1)}, 2},
		{"too many rows", []request{batch(4000, 1), batch(97, 1)}, 1},
		{"too many bytes", []request{batch(1, groupBytes), batch(1, 1)}, 1},
		{"a large one alone", []request{batch(100_000, 1), batch(1, 1)}, 1},
		{"not behind a small one", []request{batch(1, 1), batch(100_000, 1), batch(1, 1)}, 1},
		{"opening a table alone", []request{opening, batch(1, 1)}, 1},
		{"not behind a batch", []request{batch(1, 1), opening}, 1},
	} {
		if got := groupLen(c.waiting); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAFullQueueRefusesAndNeverWaits(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{QueueMax: 10_000})
	tbl := mustTable(t, e, "t")
	resume := stall(t, tbl)
	defer resume()
	const n = 30
	answers := make(chan error, n)
	for i := range n {
		tbl.Commit([]durable.Row{row(fmt.Sprintf("%02d", i), 1000)}, func(err error) { answers <- err })
	}
	if len(answers) > 0 {
		t.Fatal("a refusal overtook the batches in front of it")
	}
	if q := e.Stats().Queued; q > 20_000 {
		t.Errorf("%d bytes wait", q)
	}
	resume()
	taken := 0
	for i := range n {
		switch err := <-answers; {
		case err == nil && i == taken:
			taken++
		case !errors.Is(err, durable.ErrOverloaded) || !strings.Contains(err.Error(), e.Dir()):
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if got := count(t, tbl); got != taken || taken < 5 || taken > 9 {
		t.Errorf("%d taken, %d rows there", taken, got)
	}
	mustCommit(t, tbl, row("larger than the whole queue", 50_000))
	if s := e.Stats(); s.Queued != 0 || s.Refused != uint64(n-taken) {
		t.Errorf("%+v", s)
	}
}

func TestABatchThatChangesTooMuchFailsAlone(t *testing.T) {
	failed := make(chan CommitFailed, 10)
	e := mustOpen(t, t.TempDir(), Options{
		OnEvent: onEvent(func(c CommitFailed) { failed <- c }), test: testKnobs{pagesMax: 200},
	})
	tbl := mustTable(t, e, "t")
	var large []durable.Row
	for i := range groupRows + 1 {
		large = append(large, row(fmt.Sprintf("%06d", i), 100))
	}
	resume := stall(t, tbl)
	answers := make(chan error, 3)
	for _, rows := range [][]durable.Row{{row("before", 1)}, large, {row("behind", 1)}} {
		tbl.Commit(rows, func(err error) { answers <- err })
	}
	resume()
	if err := <-answers; err != nil {
		t.Error(err)
	}
	if err := <-answers; !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if err := <-answers; err != nil {
		t.Error(err)
	}
	if c := <-failed; c.Batches != 1 || !errors.Is(c.Err, durable.ErrTooLarge) ||
		!strings.Contains(c.String(), "1 batches failed") {
		t.Errorf("observed %v", c)
	}
	if n := count(t, tbl); n != 2 {
		t.Errorf("%d rows", n)
	}
	if s := e.Stats(); s.Queued != 0 || s.Failed != 1 {
		t.Errorf("a batch that has failed counts as one that waits: %+v", s)
	}
}

// A table that cannot be opened fails its own batches. Those of other tables in the same group
// become durable, in one transaction.
func TestATableThatCannotBeOpenedFailsAlone(t *testing.T) {
	failed := make(chan CommitFailed, 10)
	e := mustOpen(t, t.TempDir(), Options{
		MaxTables: 2, OnEvent: onEvent(func(c CommitFailed) { failed <- c }),
	})
	good, bad := mustTable(t, e, "good"), mustTable(t, e, "bad")
	mustCommit(t, good, row("first", 1))
	// the writer, which alone opens tables, gives away the last place
	good.Commit(nil, func(error) {
		if _, err := e.h.Load().openTable("uninvited", true); err != nil {
			t.Error(err)
		}
	})
	resume := stall(t, good)
	before := e.Stats()
	answers := make(chan error, 4)
	for i, tbl := range []durable.Table{good, bad, bad, good} {
		tbl.Commit([]durable.Row{row(fmt.Sprint(i), 1)}, func(err error) { answers <- err })
	}
	resume()
	for i, want := range []error{nil, durable.ErrTables, durable.ErrTables, nil} {
		if err := <-answers; !errors.Is(err, want) {
			t.Errorf("batch %d: %v, want %v", i, err, want)
		}
	}
	if c := <-failed; c.Batches != 2 || !errors.Is(c.Err, durable.ErrTables) || len(failed) > 0 {
		t.Errorf("observed %v, and %d more", c, len(failed))
	}
	if g, b := count(t, good), count(t, bad); g != 3 || b != 0 {
		t.Errorf("%d and %d rows", g, b)
	}
	if s := e.Stats(); s.Failed != 2 || s.Queued != 0 ||
		s.Batches-before.Batches != 2 || s.Commits-before.Commits != 1 {
		t.Errorf("before %+v, after %+v", before, s)
	}
}

// What was committed when Close was called is answered nil and there; what comes later gets
// ErrClosed and is not.
func TestCloseAmidCommits(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	tbl := mustTable(t, e, "t")
	var mu sync.Mutex
	var acked []string
	var callers sync.WaitGroup
	running := make(chan struct{})
	for c := range 8 {
		callers.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%06d", c, i)
				err := commit(tbl, row(key, 10))
				if errors.Is(err, durable.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				mu.Lock()
				if acked = append(acked, key); len(acked) == 100 {
					close(running)
				}
				mu.Unlock()
			}
		})
	}
	<-running
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	callers.Wait()
	slices.Sort(acked)
	var found []string
	if err := mustTable(t, mustOpen(t, dir, Options{}), "t").Load(func(r durable.Row) error {
		found = append(found,
			string(r.Key))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, acked) {
		t.Errorf("%d acknowledged, %d found", len(acked), len(found))
	}
}

// Close waits for a load, and the load sees all of its moment although commits go on.
func TestALoadSeesOneMoment(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{})
	tbl := mustTable(t, e, "t")
	for i := range 10 {
		mustCommit(t, tbl, row(fmt.Sprint(i), 10))
	}
	inside, goOn, loaded := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		n := 0
		err := tbl.Load(func(r durable.Row) error {
			if n++; n == 1 {
				close(inside)
				<-goOn
			}
			if len(r.Value) != 10 {
				t.Errorf("row %s is of a later moment", r.Key)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		loaded <- n
	}()
	<-inside
	for i := range 10 {
		mustCommit(t, tbl, row(fmt.Sprint(i), 20), row(fmt.Sprint("new", i), 20))
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	close(goOn)
	if n := <-loaded; n != 10 {
		t.Errorf("%d rows", n)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestManyLoadsAndTablesAtOnce(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{MapSize: 1 << 16})
	tbl := mustTable(t, e, "t")
	mustCommit(t, tbl, row("a", 10), row("b", 10))
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if n := count(t, tbl); n != 2 {
				t.Errorf("%d rows", n)
			}
			other := mustTable(t, e, fmt.Sprint("t", i%20))
			mustCommit(t, other, row(fmt.Sprint(i), 3000))
		})
	}
	all.Wait()
	for i := range 20 {
		if n := count(t, mustTable(t, e, fmt.Sprint("t", i))); n != 10 {
			t.Errorf("table %d has %d rows", i, n)
		}
	}
}

// A driver that is tested in virtual time may have a real store: the writer waits in a way that
// lets the clock go on.
func TestInABubble(t *testing.T) {
	dir := t.TempDir()
	bubble.Test(t, func(t *testing.T) {
		e := mustOpen(t, dir, Options{})
		tbl := mustTable(t, e, "t")
		for i := range 10 {
			<-time.After(time.Hour)
			mustCommit(t, tbl, row(fmt.Sprint(i), 10))
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A row that cannot be deleted fails its batch. A transaction that may not write refuses each
// change.
func TestADeleteThatFailsFailsTheBatch(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{})
	tbl := mustTable(t, e, "t").(*table)
	mustCommit(t, tbl, row("a", 10))
	for what, rows := range map[string][]durable.Row{"put": {row("a", 10)}, "delete": {{Key: []byte("a")}}} {
		err := e.h.Load().view(func(txn *lmdb.Txn) error { return putRows(txn, request{table: tbl, rows: rows}) })
		if !lmdb.IsErrnoSys(err, syscall.EACCES) {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustCommit(t, tbl, durable.Row{Key: []byte("missing")}, durable.Row{Key: []byte("a")})
	if n := count(t, tbl); n != 0 {
		t.Errorf("%d rows", n)
	}
}
