package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// query returns the one value of a statement.
func query[T any](t testing.TB, dsn, sql string) (v T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lockShard locks a shard in a transaction that stays open until free.
func lockShard(t *testing.T, dsn, schema string, h persistence.Hosting) (free func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT "+quoted(schema)+".own($1, $2, 0)", []byte(h.Type), int64(h.Shard))
	}
	if err != nil {
		t.Fatal(err)
	}
	free = sync.OnceFunc(func() { _ = conn.Close(ctx) })
	t.Cleanup(free)
	return free
}

// Calls in one transaction are answered each for itself.
func TestJoint(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, schema)
	for shard := range protocol.ShardID(4) {
		fence(t, s, hosting(shard, 1))
	}
	fence(t, s, hosting(1, 2))
	store(t, s, hosting(3, 1), write("before", 0, 1, "b1"))
	lockShard(t, dsn, schema, hosting(2, 1))

	good := &postgres.Joined{Hosting: hosting(0, 1), Writes: []persistence.Write{
		write("a", 0, 1, "a1", "a2"), write("b", 0, 2, "b1"),
	}}
	one := func(shard protocol.ShardID, id protocol.EntityID) *postgres.Joined {
		return &postgres.Joined{Hosting: hosting(shard, 1), Writes: []persistence.Write{write(id, 0, 1, "x")}}
	}
	fenced, locked, unknown := one(1, "fenced"), one(2, "locked"), one(9, "unknown")
	mixed := &postgres.Joined{Hosting: hosting(3, 1), Writes: []persistence.Write{
		write("before", 0, 1, "b1"), write("conflict", 7, 2, "x"), write("new", 0, 3, "n1"),
	}}
	s.Join(t.Context(), good, fenced, locked, mixed, unknown)

	if !good.OK || good.Entered == nil || *good.Entered <= 0 || len(good.Conflicts) > 0 {
		t.Errorf("a call that fits: %+v", *good)
	}
	if !fenced.OK || fenced.Entered == nil || *fenced.Entered != -1 {
		t.Errorf("a call of an earlier hosting: %+v", *fenced)
	}
	if locked.OK {
		t.Errorf("a call of a shard that is locked: %+v", *locked)
	}
	if !mixed.OK || !slices.Equal(mixed.Conflicts, []int32{2}) {
		t.Errorf("a repeated write, a conflict and a write that fits: %+v", *mixed)
	}
	if !unknown.OK || unknown.Entered != nil {
		t.Errorf("a call of a hosting that has not begun: %+v", *unknown)
	}
	events := "SELECT count(*) FROM " + quoted(schema) + ".events WHERE convert_from(entity, 'UTF8') = "
	for id, want := range map[string]int{
		"a": 2, "b": 1, "before": 1, "new": 1, "fenced": 0, "locked": 0, "conflict": 0, "unknown": 0,
	} {
		if got := query[int](t, dsn, events+"'"+id+"'"); got != want {
			t.Errorf("entity %s has %d events, want %d", id, got, want)
		}
	}
	s.Join(t.Context(), good, mixed)
	if !good.OK || len(good.Conflicts) > 0 || !slices.Equal(mixed.Conflicts, []int32{2}) {
		t.Errorf("the same calls repeated: %+v, %+v", *good, *mixed)
	}
	if got := query[int](t, dsn, "SELECT count(*) FROM "+quoted(schema)+".events"); got != 5 {
		t.Errorf("%d events after the calls were repeated, want 5", got)
	}
}

// A transaction that collides answers none of its calls, and stores nothing.
func TestJointCollides(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, schema)
	var calls []*postgres.Joined
	for shard := range protocol.ShardID(3) {
		fence(t, s, hosting(shard, 1))
		id := protocol.EntityID("same")
		if shard == 0 {
			id = "other"
		}
		w := write(id, 0, 1, "x")
		calls = append(calls, &postgres.Joined{Hosting: hosting(shard, 1), Writes: []persistence.Write{w}})
	}
	s.Join(t.Context(), calls...)
	for i, c := range calls {
		if c.OK {
			t.Errorf("call %d: %+v", i, *c)
		}
	}
	if got := query[int](t, dsn, "SELECT count(*) FROM "+quoted(schema)+".events"); got != 0 {
		t.Errorf("%d events, want none", got)
	}
}

// Calls of many shards at one time share transactions. One shard that is locked, and one that is fenced,
// hold up no others.
func TestShardsShareTransactions(t *testing.T) {
	const shards, rounds = 16, 30
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s := open(t, schema)
	for shard := range protocol.ShardID(shards + 2) {
		fence(t, s, hosting(shard, 1))
	}
	free := lockShard(t, dsn, schema, hosting(shards, 1))
	fence(t, s, hosting(shards+1, 2))
	var all, stuck sync.WaitGroup
	stuck.Go(func() {
		refused, err := s.Append(t.Context(), hosting(shards, 1), []persistence.Write{write("locked", 0, 1, "x")})
		if err != nil || len(refused) > 0 {
			t.Error("the locked shard:", refused, err)
		}
	})
	for shard := range protocol.ShardID(shards) {
		all.Go(func() {
			id := protocol.EntityID(fmt.Sprint("e", shard))
			for n := range uint64(rounds) {
				w := write(id, n, n+1, fmt.Sprint(n))
				refused, err := s.Append(t.Context(), hosting(shard, 1), []persistence.Write{w})
				if err != nil || len(refused) > 0 {
					t.Error(shard, n, refused, err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for range rounds {
			_, err := s.Append(t.Context(), hosting(shards+1, 1), []persistence.Write{write("fenced", 0, 1, "x")})
			if !errors.Is(err, persistence.ErrFenced) {
				t.Error("the fenced shard:", err)
			}
		}
	})
	all.Wait()
	free()
	stuck.Wait()
	for shard := range protocol.ShardID(shards) {
		if got := load(t, s, hosting(shard, 1), protocol.EntityID(fmt.Sprint("e", shard))); len(got) != rounds {
			t.Errorf("shard %d has %d events, want %d", shard, len(got), rounds)
		}
	}
	xids := query[int](t, dsn, "SELECT count(DISTINCT xid) FROM "+quoted(schema)+".events")
	if most := shards * rounds / 2; xids > most {
		t.Errorf("%d transactions for %d calls, want at most %d", xids, shards*rounds, most)
	}
}

// A call whose context ends leaves the others alone, whether it waits or is in a transaction.
func TestJointCallGivenUp(t *testing.T) {
	const shards = 8
	s := open(t, newSchema())
	for shard := range protocol.ShardID(shards) {
		fence(t, s, hosting(shard, 1))
	}
	var all sync.WaitGroup
	for shard := range protocol.ShardID(shards) {
		all.Go(func() {
			id := protocol.EntityID(fmt.Sprint("e", shard))
			for n := range uint64(50) {
				w := []persistence.Write{write(id, n, n+1, "x")}
				if shard%2 == 1 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*100*time.Microsecond)
					_, _ = s.Append(ctx, hosting(shard, 1), w) // its outcome is unknown
					cancel()
				}
				if refused, err := s.Append(t.Context(), hosting(shard, 1), w); err != nil || len(refused) > 0 {
					t.Error(shard, n, refused, err)
					return
				}
			}
		})
	}
	all.Wait()
}
