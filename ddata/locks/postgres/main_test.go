package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

var (
	suite   postgrestest.Suite
	schemas atomic.Uint64
)

func TestMain(m *testing.M) {
	nodetest.Main(map[string]nodetest.Program{"leased": runLeased})
	if words := strings.Split(os.Getenv(childEnv), "\n"); len(words) == 4 {
		contend(words)
	}
	goleak.VerifyTestMain(suite.Of(m))
}

const (
	ttl = time.Second // of the leases of tests
	// patience is how long anything may take: far more than it does where the processor is free.
	patience = time.Minute
)

// newSchema names a schema that no other test has.
func newSchema() string { return fmt.Sprintf("test%d", schemas.Add(1)) }

func config(t testing.TB, dsn, schema string) postgres.Config {
	t.Helper()
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool.MaxConns = 8
	return postgres.Config{Pool: pool, Schema: schema, TTL: ttl, Timeout: ttl / 4}
}

// open opens a store that ends with its test.
func open(t testing.TB, dsn, schema string) *postgres.Store {
	t.Helper()
	c := config(t, dsn, schema)
	c.TTL, c.Timeout = 2*ttl, ttl
	return openWith(t, c)
}

func openWith(t testing.TB, c postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have ended its server
	return s
}

// run runs statements without the store. @ stands for the schema.
func run(t testing.TB, dsn, schema, sql string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, strings.ReplaceAll(sql, "@", pgx.Identifier{schema}.Sanitize())); err != nil {
		t.Fatal(err)
	}
}

func door(t testing.TB, s locks.Store, name, owner string) locks.Lock {
	t.Helper()
	l, err := s.Lock(name, owner)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// owner is a door, and what was said of its losses.
type owner struct {
	locks.Lock
	lost chan error
}

// acquired returns a door that holds a lease.
func acquired(t testing.TB, s locks.Store, name, who string) owner {
	t.Helper()
	o := owner{door(t, s, name, who), make(chan error, 10)}
	if ok, err := o.Acquire(t.Context(), func(err error) { o.lost <- err }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return o
}

// loses waits until the owner is told that the lease is lost.
func (o owner) loses(t testing.TB) error {
	t.Helper()
	select {
	case err := <-o.lost:
		if !o.Until().IsZero() {
			t.Error("it was told of the loss, and holds the lease")
		}
		return err
	case <-time.After(patience):
		t.Fatal("it was not told of the loss")
		return nil
	}
}

// eventually looks again and again until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick, end := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it is not so: " + what)
		}
	}
}

// takes waits until a door gets the lease. It fails the test if that is before the Until of the
// holder was over: after is asked when it has got it.
func takes(t testing.TB, l locks.Lock, over func() bool) {
	t.Helper()
	eventually(t, "another owner gets the lease", func() bool {
		ok, err := l.Acquire(t.Context(), nil)
		if err != nil {
			t.Log(err)
		}
		if ok && !over() {
			t.Error("two owners hold the lease")
		}
		return ok
	})
}

func TestStoreKeepsTheLaws(t *testing.T) {
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		dsn, schema := suite.Server(t).DSN(), newSchema()
		return open(t, dsn, schema), open(t, dsn, schema)
	})
}
