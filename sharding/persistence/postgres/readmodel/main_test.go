package readmodel

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var (
	suite   postgrestest.Suite
	schemas atomic.Uint64
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite.Of(m)) }

// patience is far more than anything takes where the processor is free.
const patience = 2 * time.Minute

// newSchema names a schema that no other test has.
func newSchema() string { return fmt.Sprintf("test %d", schemas.Add(1)) }

func newPool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func open(t testing.TB, c Config) *Store {
	t.Helper()
	if c.Pool == nil {
		c.Pool = newPool(t, suite.Server(t).DSN())
	}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exec runs a statement without a projection.
func exec(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if _, err := s.cfg.Pool.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// effects makes a table in which each effect of an event is a row. Its name is returned.
func effects(t testing.TB, s *Store) string {
	t.Helper()
	name := fmt.Sprintf("effects_%d", schemas.Add(1))
	exec(t, s, "CREATE TABLE "+name+" (n bigserial, entity text, seq bigint)")
	return name
}

// event is an event of the tests.
type event struct{ N int }

// batch is events of one entity, after a number.
func batch(from projection.Progress, entity string, count int) *projection.Batch[event] {
	b := &projection.Batch[event]{After: from}
	for range count {
		b.After.Handled++
		b.After.Offset = persistence.Offset(fmt.Sprint(b.After.Handled))
		b.Events = append(b.Events, projection.Recorded[event]{Seq: b.After.Handled, Offset: b.After.Offset})
		b.Events[len(b.Events)-1].Entity = protocol.EntityID(entity)
	}
	return b
}
