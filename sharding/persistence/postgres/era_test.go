package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// exchange replaces a part of a function of a schema.
func exchange(t *testing.T, dsn, schema, function, part, by string) {
	t.Helper()
	name := quoted(schema) + "." + function
	text := query[string](t, dsn, "SELECT pg_get_functiondef('"+name+"'::regproc)")
	if !strings.Contains(text, part) {
		t.Fatalf("the function %s has no %q:\n%s", function, part, text)
	}
	exec(t, dsn, strings.ReplaceAll(text, part, by))
}

// A server loses its last transactions, and gives their numbers to others. A live query that has yielded
// a lost event goes on, and so does one after the offset of that event. Both find all that is stored
// afterwards. Without eras they pass over an event, and also with eras that only count: the beginning of
// the era is lost, too, and the next one has its number.
func TestReadAfterLostTransactions(t *testing.T) {
	for name, c := range map[string]struct {
		part, by string
		misses   bool
	}{
		"sound":        {},
		"without eras": {"m.started = pg_postmaster_start_time()", "true", true},
		"eras that only count": {
			"greatest(m.era + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)", "m.era + 1", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgrestest.Start(t)
			s, h := openAt(t, server.DSN(), "lost"), hosting(1, 1)
			if c.misses {
				exchange(t, server.DSN(), "lost", "now_era", c.part, c.by)
			}
			store(t, s, h, write("a", 0, 1, "x"))
			if err := server.Backup(t.Context()); err != nil {
				t.Fatal(err)
			}
			for n := range uint64(20) {
				appendUntilStored(t, s, h, write("lost", n, n+1, "x"))
			}
			held, goOn, finds := make(chan persistence.Offset), make(chan bool), make(chan bool, 1)
			go func() { finds <- findsSecond(t, s, held, goOn) }()
			q := all()
			q.After = <-held
			if err := server.PutBack(t.Context()); err != nil {
				t.Fatal(err)
			}
			appendUntilStored(t, s, h, write("a", 1, 2, "x"))
			for n := range uint64(40) { // so that the numbers of transactions are beyond those of before
				appendUntilStored(t, s, h, write("end", n, n+1, "x"))
			}
			close(goOn)
			got, _ := read(t, openAt(t, server.DSN(), "lost"), q)
			live, kept := <-finds, len(got) > 0 && got[0] == "a2x"
			if live == c.misses || kept == c.misses {
				t.Errorf("the live query finds the event: %v; the one after the offset: %v of %q", live, kept, got)
			}
			if !c.misses && len(got) != 41 {
				t.Errorf("%d events after the offset, want 41: %q", len(got), got)
			}
		})
	}
}

// findsSecond reads live, rests at the last event that will be lost, and then reports whether the second
// event of a comes before the last of what is stored.
func findsSecond(t *testing.T, s *postgres.Store, held chan<- persistence.Offset, goOn <-chan bool) bool {
	q := all()
	q.Live = true
	for r, err := range s.Events(t.Context(), q) {
		switch at := fmt.Sprint(string(r.Entity), r.Event.Seq); {
		case err != nil:
			t.Error(err)
			return false
		case at == "lost20":
			held <- r.Offset
			<-goOn
		case at == "a2":
			return true
		case at == "end40":
			return false
		}
	}
	t.Error("the query ended")
	return false
}

// A dump brings events to a server whose transactions have lower numbers. They are read, offsets go on,
// and so do new events, also with an account that may not change the schema.
func TestReadAfterMoveToAnotherServer(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s, h := open(t, schema), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "-1", "-2"))
	s.Close()
	exec(t, dsn, strings.ReplaceAll("UPDATE @.events SET xid = xid + 1000000000; "+
		"UPDATE @.meta SET started = started - interval '1 hour'", "@", quoted(schema)))
	c := config(t, dsn, schema)
	c.Prepared = true
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	old, at := read(t, s, all())
	store(t, s, h, write("a", 2, 2, "-3"))
	q := all()
	q.After = at
	more, _ := read(t, s, q)
	if fmt.Sprint(old, more) != "[a1-1 a2-2] [a3-3]" {
		t.Errorf("%q, then %q", old, more)
	}
	open(t, schema)
	if again, _ := read(t, s, all()); len(again) != 3 {
		t.Errorf("opened again: %q", again)
	}
}

// An offset that is ahead of the server is told of: what the server stores next would be passed over.
func TestReadAheadOfTheServer(t *testing.T) {
	s := open(t, newSchema())
	store(t, s, hosting(1, 1), write("a", 0, 1, "-1"))
	_, at := read(t, s, all())
	era, rest, _ := strings.Cut(string(at), ".")
	xid, _, _ := strings.Cut(rest, ".")
	for _, ahead := range []string{era + ".1" + xid + ".1", "1" + era + "." + rest} {
		for _, live := range []bool{false, true} {
			q := all()
			q.After, q.Live = persistence.Offset(ahead), live
			var got error
			for _, err := range s.Events(t.Context(), q) {
				got = err
			}
			if !errors.Is(got, persistence.ErrDamaged) || !strings.Contains(got.Error(), ahead) {
				t.Errorf("after %s, live %v: %v", ahead, live, got)
			}
		}
	}
}
