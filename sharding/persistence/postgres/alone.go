package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zeebo/xxh3"
)

// ErrInUse: a program that wants the schema alone meets another one that has it open, or the other way
// round. The usual cause is a node that still runs. A pooler that keeps connections of programs which
// have ended is another one: end its connections.
var ErrInUse = errors.New("another program has the schema open")

const centuries = time.Duration(math.MaxInt64)

// pool is the pool of a store. Each of its connections holds a lock that says how the schema is used.
// One stays open, so that a store that does nothing is seen.
func (c Config) pool() *pgxpool.Config {
	p := c.Pool.Copy()
	p.MinConns = max(p.MinConns, 1)
	if c.Alone {
		// Another connection of this program would not get the lock.
		p.MinConns, p.MaxConns = 1, 1
		p.MinIdleConns = 0
		p.MaxConnLifetime, p.MaxConnLifetimeJitter, p.MaxConnIdleTime = centuries, 0, centuries
	}
	given, schema, alone := p.AfterConnect, c.schema(), c.Alone
	p.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if given != nil {
			if err := given(ctx, conn); err != nil {
				return err
			}
		}
		return use(ctx, conn, schema, alone)
	}
	return p
}

// A program that has ended holds its lock until the server has seen that.
const (
	useTries = 50
	usePause = 20 * time.Millisecond
)

// use takes the lock of a schema for the life of a connection. It waits for a program that ends, for a
// second, and for no other one.
func use(ctx context.Context, conn *pgx.Conn, schema string, alone bool) error {
	sql := "SELECT pg_try_advisory_lock_shared($1)"
	if alone {
		sql = "SELECT pg_try_advisory_lock($1)"
	}
	for range useTries {
		var got bool
		err := conn.QueryRow(ctx, sql, int64(xxh3.HashString(product+" in use "+schema))).Scan(&got)
		if err != nil || got {
			return err
		}
		if !sleep(ctx, usePause) {
			break
		}
	}
	return fmt.Errorf("%w: %q", ErrInUse, schema)
}
