package postgres_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// openWith opens a store whose pool a test has changed.
func openWith(t *testing.T, schema string, change func(*postgres.Config)) *postgres.Store {
	t.Helper()
	c := config(t, suite.Server(t).DSN(), schema)
	change(&c)
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// appendOften appends events one by one, and some together, and reads them.
func appendOften(t *testing.T, s *postgres.Store) {
	t.Helper()
	h := hosting(1, 1)
	for i := range uint64(5) {
		store(t, s, h, write("a", i, i, "x"))
	}
	store(t, s, h, write("a", 5, 5, "y", "z"), write("b", 0, 6, "x"))
	ends, err := s.Load(t.Context(), h, []persistence.Read{{Entity: "a"}, {Entity: "b"}}, nothing)
	if err != nil || ends[0].Last != 7 || ends[1].Last != 1 {
		t.Errorf("the histories are %v, %v", ends, err)
	}
}

// A store works with connections that keep no statements, as poolers want it.
func TestAppendWithoutPreparing(t *testing.T) {
	appendOften(t, openWith(t, newSchema(), func(c *postgres.Config) {
		c.Pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}))
}

// A server that has lost a prepared statement gets it again: so do poolers that give a connection another
// one of the server.
func TestAppendPreparesAgain(t *testing.T) {
	var lost atomic.Int64
	appendOften(t, openWith(t, newSchema(), func(c *postgres.Config) {
		c.Pool.MaxConns = 1
		c.Pool.AfterRelease = func(conn *pgx.Conn) bool {
			if lost.Add(1)%3 == 0 { // each time would be more often than a call is repeated
				_, err := conn.PgConn().Exec(context.WithoutCancel(t.Context()), "DEALLOCATE ALL").ReadAll()
				return err == nil
			}
			return true
		}
	}))
	if lost.Load() < 6 {
		t.Errorf("a connection was used %d times", lost.Load())
	}
}

// tracer counts queries.
type tracer struct{ begun, ended atomic.Int64 }

func (c *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if strings.Contains(d.SQL, ".append(") {
		c.begun.Add(1)
	}
	return ctx
}

func (c *tracer) TraceQueryEnd(_ context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	if d.CommandTag.Select() && d.CommandTag.RowsAffected() == 1 {
		c.ended.Add(1)
	}
}

// The tracer of a pool sees what appends.
func TestAppendIsTraced(t *testing.T) {
	var seen tracer
	s := openWith(t, newSchema(), func(c *postgres.Config) { c.Pool.ConnConfig.Tracer = &seen })
	fence(t, s, hosting(1, 1))
	ended := seen.ended.Load()
	appendOften(t, s)
	if seen.begun.Load() < 6 || seen.ended.Load() < ended+6 {
		t.Errorf("the tracer saw %d calls begin, and %d end", seen.begun.Load(), seen.ended.Load()-ended)
	}
}
