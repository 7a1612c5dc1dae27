package lmdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// childEnv names the role that this test binary plays when a test starts it as a process.
const childEnv = "COTERIE_ENTITIES_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		if err := children[role](os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestLaws(t *testing.T) {
	persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened {
		return opened(t, filepath.Join(t.TempDir(), "entities"))
	})
}

func opened(t testing.TB, dir string) *persistencetest.Opened {
	s := mustOpen(t, dir)
	door := persistencetest.DoorOf(s)
	damage := func(typ string, id protocol.EntityID, seq uint64) error {
		key := refOf(typ, id).keyAt(kindEvent, seq)
		for _, row := range s.rows(t) {
			if bytes.Equal(row.Key, key) {
				row.Value[len(row.Value)-1] ^= 1
				s.put(t, row)
				return nil
			}
		}
		return fmt.Errorf("no event %d of %v", seq, id)
	}
	reopen := func(t testing.TB) *persistencetest.Opened {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return opened(t, dir)
	}
	return &persistencetest.Opened{A: door, B: door, Damage: damage, Reopen: reopen}
}

func mustOpen(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var first = persistence.Hosting{Type: "account", Shard: 1}

func write(id protocol.EntityID, after uint64, body string) persistence.Write {
	return persistence.Write{Entity: id, After: after, ID: after, Events: []persistence.Event{
		{Name: "opened", Version: 2, Body: []byte(body), Tags: []string{"t"}, At: time.UnixMicro(17e14)},
	}}
}

func (s *Store) store(h persistence.Hosting, writes ...persistence.Write) error {
	refused, err := s.Append(context.Background(), h, writes)
	for _, r := range refused {
		err = errors.Join(err, r.Err)
	}
	return err
}

func mustStore(t testing.TB, s *Store, writes ...persistence.Write) {
	t.Helper()
	if err := s.store(first, writes...); err != nil {
		t.Fatal(err)
	}
}

// bodies loads the events of an entity.
func (s *Store) bodies(id protocol.EntityID) (out []string, err error) {
	_, err = s.Load(context.Background(), first, []persistence.Read{{Entity: id}},
		func(_ int, e persistence.Event) error { out = append(out, string(e.Body)); return nil })
	return out, err
}

// Whatever holds the directory is refused, with a remedy, and is left as it is.
func TestRefusedDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want []error
	}{
		"in use": {func(t *testing.T, dir string) { mustOpen(t, dir) }, []error{durable.ErrInUse}},
		"letters": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "letters.txt"), []byte("dear"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []error{persistence.ErrForeign, durable.ErrForeign}},
		"a node's": {func(t *testing.T, dir string) { makeEnv(t, dir, "view 7", false) },
			[]error{persistence.ErrForeign, durable.ErrForeign}},
		"other rows": {func(t *testing.T, dir string) { makeEnv(t, dir, "", true) },
			[]error{persistence.ErrForeign, durable.ErrForeign}},
		"newer": {func(t *testing.T, dir string) { makeEnv(t, dir, noteTitle+"format 2\n", true) },
			[]error{persistence.ErrVersion, durable.ErrVersion}},
		"a file": {func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, []error{durable.ErrUnwritable}},
		"no file in it": {func(t *testing.T, dir string) {
			s := mustOpen(t, dir)
			mustStore(t, s, write("e", 0, "1"))
			if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, "coterie.store", "data.mdb"))); err != nil {
				t.Fatal(err)
			}
		}, []error{persistence.ErrDamaged, durable.ErrCorrupt}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			for range 2 {
				s, err := Open(dir, Options{})
				if err == nil {
					_ = s.Close()
				}
				known := (*durable.Error)(nil)
				if !errors.As(err, &known) || known.Remedy == "" || !strings.Contains(err.Error(), dir) {
					t.Fatalf("opened with %v, want an error with a path and a remedy", err)
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				}
			}
		})
	}
}

// makeEnv makes a directory of something else.
func makeEnv(t *testing.T, dir, note string, rows bool) {
	t.Helper()
	e, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if note != "" {
		if err := e.SetNote([]byte(note)); err != nil {
			t.Fatal(err)
		}
	}
	if rows {
		tbl, err := e.Table("backend")
		if err != nil {
			t.Fatal(err)
		}
		answer := make(chan error, 1)
		tbl.Commit([]durable.Row{{Key: []byte("k"), Value: []byte("v")}}, func(err error) { answer <- err })
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
	}
}

// A closed store says so, also to live queries, and opens again.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	mustStore(t, s, write("e", 0, "1"))
	met, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for _, err := range s.Events(context.Background(), persistence.Query{
			Type: first.Type, Live: true,
		}) {
			if err != nil {
				ended <- err
				return
			}
			close(met)
		}
		ended <- nil
	}()
	<-met
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, loaded := s.bodies("e")
	for what, err := range map[string]error{
		"live query": <-ended, "append": s.store(first, write("e", 1, "2")), "load": loaded,
		"fence": s.Fence(t.Context(), first), "delete": s.Delete(t.Context(), first, "e", 1),
	} {
		if !errors.Is(err, persistence.ErrClosed) || !errors.Is(err, durable.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		} else if n := strings.Count(err.Error(), persistence.ErrClosed.Error()); n != 1 {
			t.Errorf("%s says it %d times: %v", what, n, err)
		}
	}
	if got, err := mustOpen(t, dir).bodies("e"); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
}

// Writers of many shards share transactions.
func TestGroupCommit(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	const shards, writes = 64, 20
	var all sync.WaitGroup
	errs := make([]error, shards)
	for i := range shards {
		all.Go(func() {
			h := persistence.Hosting{Type: "account", Shard: protocol.ShardID(i)}
			for n := range uint64(writes) {
				if err := s.store(h, write(protocol.EntityID(fmt.Sprint(i)), n, "x")); err != nil {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if st := s.env.Stats(); st.Commits*4 > st.Batches {
		t.Errorf("%d transactions for %d calls of %d shards", st.Commits, st.Batches, shards)
	}
	if n := len(s.turns.places); n > 0 {
		t.Errorf("%d turns of shards are kept", n)
	}
}

// waiting is a context that says when a call waits for the second time: first it waits for its turn,
// then for its commit.
type waiting struct {
	context.Context
	calls      atomic.Int32
	committing chan struct{}
}

func (w *waiting) Done() <-chan struct{} {
	if w.calls.Add(1) == 2 {
		close(w.committing)
	}
	return w.Context.Done()
}

// A call that is given up while the disk stands still keeps its turn: what comes after it finds it.
func TestGivenUpKeepsItsTurn(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	mustStore(t, s, write("e", 0, "1"))
	hold, held := make(chan struct{}), make(chan struct{})
	s.table.Commit(nil, func(error) { close(held); <-hold }) // the writer's goroutine waits
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	waits := &waiting{Context: ctx, committing: make(chan struct{})}
	began := make(chan error, 1)
	go func() {
		_, err := s.Append(waits, first, []persistence.Write{write("e", 1, "2")})
		began <- err
	}()
	<-waits.committing
	cancel()
	if err := <-began; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !s.turns.taken(first) {
		t.Error("the turn was given back before the commit")
	}
	fenced := make(chan error, 1)
	later := first
	later.Token.Seq = 1
	go func() { fenced <- s.Fence(t.Context(), later) }()
	close(hold)
	if err := <-fenced; err != nil {
		t.Fatal(err)
	}
	ends, err := s.Load(t.Context(), later, []persistence.Read{{Entity: "e"}},
		func(int, persistence.Event) error { return nil })
	if err != nil || ends[0].Last != 2 {
		t.Error(ends, err)
	}
	if s.turns.taken(first) {
		t.Error("the turn is kept after the commit")
	}
}

// taken reports whether a call has the turn of a shard.
func (ts *turns) taken(h persistence.Hosting) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.places[place{h.Type, h.Shard}]
	return t != nil && len(t.taken) == 1
}

// Times are the writers' own: clocks that jump change no order.
func TestClockJumps(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	times := []time.Time{time.UnixMicro(9e15), {}, time.UnixMicro(-1), time.UnixMicro(5)}
	for i, at := range times {
		w := write("e", uint64(i), fmt.Sprint(i))
		w.Events[0].At = at
		mustStore(t, s, w)
	}
	i := 0
	for r, err := range s.Events(t.Context(), persistence.Query{Type: first.Type}) {
		if err != nil || !r.Event.At.Equal(times[i]) || r.Event.Seq != uint64(i)+1 {
			t.Errorf("event %d: %v %v", i, r, err)
		}
		i++
	}
	if i != len(times) {
		t.Errorf("%d events", i)
	}
}
