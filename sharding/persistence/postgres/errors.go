package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/direct"
)

// Codes of errors of the server that the package tells apart.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
	readOnly             = "25006"
	dataCorrupted        = "XX001"
	indexCorrupted       = "XX002"
)

// advice says what a caller or an administrator can do about an error of the server.
var advice = map[string]string{
	serializationFailure: "concurrent calls got into each other's way again and again; repeat it",
	deadlockDetected:     "concurrent calls got into each other's way again and again; repeat it",
	uniqueViolation:      "concurrent calls got into each other's way again and again; repeat it",
	direct.NoStatement: "the server has not got a statement that was prepared, again and again; a pooler that shares " +
		"connections must keep them, or default_query_exec_mode=exec be in the connection string",
	readOnly: "the server takes no writes; after a fail-over the primary is another one: name all of them in the " +
		"connection string, with target_session_attrs=read-write",
	"53100": "the disk of the server is full; make room, and the calls succeed again",
	"53200": "the server has no memory left; it recovers, or needs more",
	"53300": "the server has no connection left; lower MaxConns of the pools, or raise max_connections",
	"55P03": "another call holds the lock of the shard; repeat it",
	"57014": "the server cancelled it, because of its statement_timeout or an administrator; repeat it",
	"57P01": "an administrator ended the connection; the outcome is unknown: repeat it with the same ID",
	"57P02": "the server crashed and restarts; the outcome is unknown: repeat it with the same ID",
	"57P03": "the server starts or stops; repeat it",
	"42501": "the account lacks a right; the documentation of the package lists them",
	"3F000": "the schema is not there; " + dropped,
	"42P01": "a table is missing; " + dropped,
	"42883": "a function is missing; " + dropped,
}

// dropped is advice on what was there when the store was opened. Migrate alone does not help: it makes only
// what a later format has.
const dropped = "it was dropped: restore a backup; or, if nothing in the schema is needed, stop all programs that " +
	"use it, drop what is left of it, and call Migrate"

// explain adds to an error what was tried and what to do. It leaves errors of the port alone.
func explain(op string, err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, puddle.ErrClosedPool):
		return fmt.Errorf("postgres: %s: %w", op, persistence.ErrClosed)
	case errors.As(err, &server):
		if server.Code == dataCorrupted || server.Code == indexCorrupted {
			return fmt.Errorf("postgres: %s: %w: the server says: %w", op, persistence.ErrDamaged, err)
		}
		if text, ok := advice[server.Code]; ok {
			return fmt.Errorf("postgres: %s: %s: %w", op, text, err)
		}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return fmt.Errorf("postgres: %s: given up, the outcome is unknown: %w", op, err)
	case lost(err):
		return fmt.Errorf("postgres: %s: no connection to the server, the outcome is unknown; repeat it: "+
			"%w", op, err)
	}
	return fmt.Errorf("postgres: %s: %w", op, err)
}

// lost reports whether the connection to the server is to blame.
func lost(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || isNetwork(err) || pgconn.SafeToRetry(err)
}

// collided reports whether a concurrent transaction has ended one that may succeed when it is
// repeated, or nothing of it was sent or carried out.
func collided(err error) bool {
	switch codeOf(err) {
	case serializationFailure, deadlockDetected, uniqueViolation, direct.NoStatement:
		return true
	}
	return pgconn.SafeToRetry(err)
}

// codeOf returns the code of an error of the server, or "".
func codeOf(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}
