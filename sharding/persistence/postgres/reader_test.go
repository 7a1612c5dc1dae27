package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func all() persistence.Query {
	return persistence.Query{Type: "cart"}
}

// read returns what a query yields, as texts, and the offset after it.
func read(t *testing.T, s *postgres.Store, q persistence.Query) (texts []string, at persistence.Offset) {
	t.Helper()
	at = q.After
	for r, err := range s.Events(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		texts, at = append(texts, fmt.Sprint(string(r.Entity), r.Event.Seq, string(r.Event.Body))), r.Offset
	}
	return texts, at
}

func TestReadSlicesAndTags(t *testing.T) {
	s := open(t, newSchema())
	ids := []protocol.EntityID{"a", "b", "c", "d"}
	for i := range uint64(12) {
		h := hosting(protocol.ShardID(i%3), 1)
		w := write(ids[i%4], i/4, i, fmt.Sprint("-", i))
		if i%2 == 0 {
			w.Events[0].Tags = []string{"even"}
		} else {
			w.Events[0].Tags = []string{"\x04even", "odd"} // has the bytes of the other
		}
		store(t, s, h, w)
	}
	everything, end := read(t, s, all())
	if len(everything) != 12 || !slices.IsSortedFunc(everything, func(x, y string) int {
		var i, j int
		fmt.Sscan(x[strings.Index(x, "-")+1:], &i)
		fmt.Sscan(y[strings.Index(y, "-")+1:], &j)
		return i - j
	}) {
		t.Errorf("got %q", everything)
	}
	q := all()
	q.Tag = "even"
	if even, _ := read(t, s, q); fmt.Sprint(even) != "[a1-0 c1-2 a2-4 c2-6 a3-8 c3-10]" {
		t.Errorf("even: %q", even)
	}
	total := 0
	for slice := range persistence.SliceCount {
		if !slices.ContainsFunc(ids, func(id protocol.EntityID) bool {
			return persistence.SliceOf(string(id)) == slice
		}) {
			continue
		}
		part, _ := read(t, s, persistence.Query{Type: "cart", First: slice, End: slice + 1})
		total += len(part)
	}
	if total != 12 {
		t.Errorf("%d events in all slices", total)
	}
	q = all()
	q.After = end
	if rest, _ := read(t, s, q); len(rest) != 0 {
		t.Errorf("after the end: %q", rest)
	}
	q.Type = "other"
	if rest, _ := read(t, s, q); len(rest) != 0 {
		t.Errorf("of another type: %q", rest)
	}
	for _, wrong := range []persistence.Offset{"x", "1.2", "1.2.3x"} {
		q.After = wrong
		for _, err := range s.Events(t.Context(), q) {
			if err == nil || !strings.Contains(err.Error(), string(wrong)) {
				t.Errorf("offset %q: %v", wrong, err)
			}
		}
	}
}

// 1. A transaction begins and stores an event. 2. A later one stores another event, and commits.
// 3. A reader must not see the second event yet, or it would go on behind the first one.
func TestReadHoldsBackWhatMayComeSecond(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, schema)
	store(t, s, hosting(1, 1), write("a", 0, 1, "-first"))
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The open transaction takes the event over, as if it had stored it.
	late := strings.ReplaceAll(`UPDATE @.events SET xid = pg_current_xact_id()::text::bigint`, "@", quoted(schema))
	if _, err := tx.Exec(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	store(t, s, hosting(2, 1), write("b", 0, 1, "-second"))
	q := all()
	before, at := read(t, s, q)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.After = at
	after, _ := read(t, s, q)
	if fmt.Sprint(before, after) != "[a1-first] [a1-first b1-second]" {
		t.Errorf("before %q, after %q", before, after)
	}
}

// A live query sees events of all writers, once, in the order of each entity, wherever it is broken
// off and goes on. It hears of them by LISTEN alone.
func TestReadLive(t *testing.T) {
	const writers, each = 5, 40
	schema := newSchema()
	s := open(t, schema)
	c := config(t, suite.Server(t).DSN(), schema)
	c.PollInterval = time.Hour
	reader, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var running sync.WaitGroup
	defer running.Wait()
	for i := range writers {
		running.Go(func() {
			id, h := protocol.EntityID(fmt.Sprint(i)), hosting(protocol.ShardID(i), 1)
			for n := range uint64(each) {
				refused, err := s.Append(t.Context(), h, []persistence.Write{write(id, n, n, "x")})
				if err != nil || len(refused) > 0 {
					t.Error(refused, err)
				}
			}
		})
	}
	last, q := map[protocol.EntityID]uint64{}, all()
	q.Live = true
	for seen := 0; seen < writers*each; {
		for r, err := range reader.Events(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Event.Seq != last[r.Entity]+1 {
				t.Fatalf("event %d of %v after %d", r.Event.Seq, r.Entity, last[r.Entity])
			}
			last[r.Entity], q.After = r.Event.Seq, r.Offset
			if seen++; seen%17 == 0 || seen == writers*each {
				break
			}
		}
	}
}

// A live query ends with its context, without an error.
func TestReadLiveEnds(t *testing.T) {
	s := open(t, newSchema())
	store(t, s, hosting(1, 1), write("a", 0, 1, "-1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := all()
	q.Live = true
	for _, err := range s.Events(ctx, q) {
		if err != nil {
			t.Error(err)
		}
		cancel()
	}
}

// A live query goes on when all connections were ended, its own and that of the listener, and when
// the server was killed. The first transactions after that have numbers of some before, of which
// nothing was on disk.
func TestReadLiveReconnects(t *testing.T) {
	server := postgrestest.Start(t)
	s := openAt(t, server.DSN(), "live")
	h, q := hosting(1, 1), all()
	q.Live = true
	store(t, s, h, write("a", 0, 1, "x"))
	for r, err := range s.Events(t.Context(), q) {
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Event.Seq == 5:
			return
		case r.Event.Seq == 3:
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		default:
			exec(t, server.DSN(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "+
				"'client backend' AND pid <> pg_backend_pid()")
		}
		appendUntilStored(t, s, h, write("a", r.Event.Seq, r.Event.Seq+1, "x"))
	}
	t.Error("the query ended")
}

// appendUntilStored repeats a write as long as the store fails.
func appendUntilStored(t *testing.T, s *postgres.Store, h persistence.Hosting, w persistence.Write) {
	t.Helper()
	for {
		refused, err := s.Append(t.Context(), h, []persistence.Write{w})
		if err == nil {
			if len(refused) > 0 {
				t.Error(refused)
			}
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// A query reads pages of any size, also of large events.
func TestReadPages(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	var want []string
	var w persistence.Write
	for n := range uint64(1500) {
		if n%500 == 0 {
			w = write("a", n, n)
		}
		body := fmt.Sprint("-", n)
		if n%100 == 0 {
			body = strings.Repeat("x", 1<<20) + body
		}
		w.Events = append(w.Events, write("a", n, n, body).Events...)
		want = append(want, fmt.Sprint("a", n+1, body))
		if n%500 == 499 {
			store(t, s, h, w)
		}
	}
	if got, _ := read(t, s, all()); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
}
