package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var (
	suite   postgrestest.Suite
	schemas atomic.Uint64
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite.Of(m)) }

// newSchema names a schema that no other test has.
func newSchema() string { return fmt.Sprintf("test %d", schemas.Add(1)) }

func config(t testing.TB, dsn, schema string) postgres.Config {
	t.Helper()
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool.MaxConns = 20
	return postgres.Config{Pool: pool, Schema: schema}
}

// open opens a store of one schema of the server of the suite.
func open(t testing.TB, schema string) *postgres.Store {
	t.Helper()
	return openAt(t, suite.Server(t).DSN(), schema)
}

func openAt(t testing.TB, dsn, schema string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), config(t, dsn, schema))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// exec runs statements without the store.
func exec(t testing.TB, dsn, sql string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

func hosting(shard protocol.ShardID, seq uint64) persistence.Hosting {
	token := singleton.FencingToken{Era: 1, Epoch: 1, Up: 1, Seq: seq}
	return persistence.Hosting{Type: "cart", Shard: shard, Token: token}
}

func write(id protocol.EntityID, after, writeID uint64, bodies ...string) persistence.Write {
	w := persistence.Write{Entity: id, After: after, ID: writeID}
	for i, b := range bodies {
		w.Events = append(w.Events, persistence.Event{
			Seq: after + uint64(i) + 1, Name: "Added", Version: 1, Body: []byte(b), At: time.UnixMicro(1).UTC(),
		})
	}
	return w
}

func fence(t testing.TB, s persistence.Fencer, h persistence.Hosting) {
	t.Helper()
	if err := s.Fence(t.Context(), h); err != nil {
		t.Fatal(err)
	}
}

// store appends writes of which none is refused.
func store(t testing.TB, j persistence.Journal, h persistence.Hosting, writes ...persistence.Write) {
	t.Helper()
	refused, err := j.Append(t.Context(), h, writes)
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

func nothing(int, persistence.Event) error { return nil }

// load returns the bodies of a history.
func load(t testing.TB, j persistence.Journal, h persistence.Hosting, id protocol.EntityID) (bodies []string) {
	t.Helper()
	_, err := j.Load(t.Context(), h, []persistence.Read{{Entity: id}}, func(_ int, e persistence.Event) error {
		bodies = append(bodies, string(e.Body))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}
