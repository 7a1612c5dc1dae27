package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// begin opens a transaction beside a store, which the test ends.
func begin(t *testing.T) pgx.Tx {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, suite.Server(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// awaitLocked returns when a session of the server waits for a transaction.
func awaitLocked(t *testing.T) {
	t.Helper()
	exec(t, suite.Server(t).DSN(), `DO $$ BEGIN
	  WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted) LOOP
	    PERFORM pg_sleep(0.005);
	  END LOOP;
	END $$`)
}

// 1. A hosting deletes up to 5, and its transaction stays open. 2. A hosting of another shard, which no
// lock keeps apart, deletes up to 3: it still sees the events, and waits. 3. The first one commits. The
// second must not take the number back to 3, or the history has a gap.
func TestDeletionsCross(t *testing.T) {
	schema := newSchema()
	s, h, other := open(t, schema), hosting(1, 1), hosting(2, 1)
	store(t, s, h, write("a", 0, 1, "1", "2", "3", "4", "5", "6"))
	fence(t, s, other)
	tx := begin(t)
	forget := "SELECT " + quoted(schema) + ".forget($1, 1, $2, 0, 'a', 5)"
	if _, err := tx.Exec(t.Context(), forget, []byte(h.Type), h.Token.Bytes()); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- s.Delete(t.Context(), other, "a", 3) }()
	awaitLocked(t)
	if err := errors.Join(tx.Commit(t.Context()), <-deleted); err != nil {
		t.Fatal(err)
	}
	ends, err := s.Load(t.Context(), h, []persistence.Read{{Entity: "a"}}, nothing)
	if err != nil || ends[0] != (persistence.End{Deleted: 5, Last: 6}) {
		t.Errorf("the history is %v, %v", ends, err)
	}
	if got, _ := read(t, s, all()); fmt.Sprint(got) != "[a66]" {
		t.Errorf("a reader finds %q", got)
	}
}

// appendOne is a statement that appends one event with the body "x" in a transaction of the test.
func appendOne(schema string, h persistence.Hosting, after int) (sql string, arguments []any) {
	return strings.ReplaceAll(`SELECT entered, refused FROM @.append(array[$1::bytea], array[$2::bigint],
	  array[$3::bytea], 0, false, 0, '{1}', '{b}', array[$4::bigint], '{7}', '{1}', '{1}', '{b}', '{1}', array[$4::bigint + 1], '{n}', '{1}', '{0}',
	  array[NULL::bytea], '{x}', '{0}')`, "@", quoted(schema)),
		[]any{[]byte(h.Type), int64(h.Shard), h.Token.Bytes(), after}
}

// 1. A transaction gets its number. 2. A later one, of a hosting of another shard, stores the first
// event of an entity, and commits. 3. The first one sees the event, and would append the second one.
// Readers go by the numbers of transactions, and would meet it first: so it is ended, to be repeated.
func TestAppendIsNoOlderThanWhatItFollows(t *testing.T) {
	schema := newSchema()
	s, h := open(t, schema), hosting(1, 1)
	fence(t, s, h)
	tx := begin(t)
	if _, err := tx.Exec(t.Context(), "SELECT pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	store(t, s, hosting(2, 1), write("b", 0, 1, "x"))
	sql, arguments := appendOne(schema, h, 1)
	_, err := tx.Exec(t.Context(), sql, arguments...)
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != "40001" {
		t.Errorf("an older transaction appends: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t).Exec(t.Context(), sql, arguments...); err != nil {
		t.Errorf("a later one: %v", err)
	}
}

// A server that takes no writes any more is left: the next call has a connection of its own, which may
// lead to another server.
func TestReadOnlyServerIsLeft(t *testing.T) {
	schema := newSchema()
	open(t, schema)
	c := config(t, suite.Server(t).DSN(), schema)
	c.Pool.MaxConns, c.Prepared = 1, true
	demoted := 0
	c.Pool.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if demoted++; demoted == 2 { // Open has the first call
			_, err := conn.Exec(ctx, "SET default_transaction_read_only = on")
			return true, err
		}
		return true, nil
	}
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Fence(t.Context(), hosting(1, 1)); err == nil || !strings.Contains(err.Error(), "takes no writes") {
		t.Errorf("the first call: %v", err)
	}
	if err := s.Fence(t.Context(), hosting(1, 1)); err != nil {
		t.Errorf("the second call: %v", err)
	}
}

// A call of several statements that collides in its second one begins anew: it refuses each write
// once, in the order of the call.
func TestPartsCollide(t *testing.T) {
	s, calls, entered := open(t, newSchema()), 0, int64(1)
	over := []persistence.Refusal{{Index: 1, Err: persistence.ErrTooLarge}}
	refused, err := s.SaveParts(t.Context(), hosting(1, 1), [][]int{{0, 2}, {3}}, over,
		func(part []int) (*int64, []int32, error) {
			if calls++; calls == 2 {
				return nil, nil, &pgconn.PgError{Code: "40001"}
			}
			if part[0] == 3 {
				return &entered, nil, nil
			}
			return &entered, []int32{1, 2}, nil
		})
	if err != nil || calls != 4 {
		t.Errorf("%d statements, %v", calls, err)
	}
	var at []int
	for _, r := range refused {
		at = append(at, r.Index)
	}
	if fmt.Sprint(at) != "[0 1 2]" {
		t.Errorf("refused are %v", at)
	}
}

// A call of several statements ends with the first that is fenced.
func TestPartsFenced(t *testing.T) {
	s, calls, passed := open(t, newSchema()), 0, int64(-1)
	_, err := s.SaveParts(t.Context(), hosting(1, 1), [][]int{{0}, {1}}, nil, func([]int) (*int64, []int32, error) {
		calls++
		return &passed, nil, nil
	})
	if calls != 1 || !errors.Is(err, persistence.ErrFenced) {
		t.Errorf("%d statements, %v", calls, err)
	}
}
