package postgres_test

import (
	"testing"
	"time"
)

// setClock sets the clock of the server, for all programs that use the schema.
func setClock(t testing.TB, dsn, schema, ahead string) {
	t.Helper()
	run(t, dsn, schema, `CREATE OR REPLACE FUNCTION @.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '`+ahead+`' $$`)
}

// A holder keeps its lease, and saves at once, when the clock of the server is set. Another owner
// that tries all the time does not get it.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	dsn, schema := suite.Server(t).DSN(), newSchema()
	a, b := acquired(t, open(t, dsn, schema), "x", "ann"), door(t, open(t, dsn, schema), "x", "bob")
	tries := func(until time.Time) {
		t.Helper()
		eventually(t, "the lease is renewed", func() bool {
			if ok, err := b.Acquire(t.Context(), nil); ok || err != nil {
				t.Fatal("another owner:", ok, err)
			}
			return a.Until().After(until)
		})
	}
	tries(a.Until().Add(ttl)) // b has seen the clock for longer than the lease lasts
	for _, ahead := range []string{"1 hour", "1 minute", "1 minute 5 seconds"} {
		setClock(t, dsn, schema, ahead)
		if err := a.Save(t.Context(), []byte(ahead)); err != nil {
			t.Errorf("clock %s ahead: %v", ahead, err)
		}
		if got, err := a.Load(t.Context()); string(got) != ahead || err != nil {
			t.Errorf("clock %s ahead: loaded %q, %v", ahead, got, err)
		}
		tries(a.Until())
	}
	if len(a.lost) > 0 {
		t.Error(<-a.lost)
	}
}

// The clock is set forward when the holder cannot renew. Another owner gets the lease when the hold
// is over, not at once: whether its store was there before, or was opened after that.
func TestClockIsSetInAPartition(t *testing.T) {
	t.Parallel()
	for name, opensBefore := range map[string]bool{"opened before": true, "opened after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, schema := suite.Server(t).DSN(), newSchema()
			s, wires, server := behind(t, schema)
			a := acquired(t, s, "x", "ann")
			if opensBefore {
				b, until := door(t, open(t, dsn, schema), "x", "bob"), a.Until().Add(ttl*3/2)
				eventually(t, "the lease is renewed", func() bool { return a.Until().After(until) })
				wires.CutBoth(client, server)
				setClock(t, dsn, schema, "1 hour")
				takes(t, b, func() bool { return a.Until().IsZero() })
				return
			}
			wires.CutBoth(client, server)
			setClock(t, dsn, schema, "1 hour")
			takes(t, door(t, open(t, dsn, schema), "x", "bob"), func() bool { return a.Until().IsZero() })
		})
	}
}
