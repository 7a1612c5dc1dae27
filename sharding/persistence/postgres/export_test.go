package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// SaveParts makes a call of parts, of which f makes the statements.
func (s *Store) SaveParts(
	ctx context.Context, h persistence.Hosting, parts [][]int, refused []persistence.Refusal,
	f func(part []int) (entered *int64, conflicts []int32, err error),
) ([]persistence.Refusal, error) {
	return s.save(ctx, "test", h, parts, refused,
		func(_ querier, part []int) (*int64, []int32, error) { return f(part) },
		func(int) error { return persistence.ErrConflict })
}

// OpenFormat opens a store of a program that knows the formats of the schema up to one.
func OpenFormat(ctx context.Context, c Config, format int) (*Store, error) {
	before := migrations
	defer func() { migrations = before }()
	migrations = migrations[:format]
	conn, err := pgx.ConnectConfig(ctx, c.Pool.ConnConfig)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if err := install(ctx, conn, c.schema(), false); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c.pool())
	if err != nil {
		return nil, err
	}
	return newStore(pool, c, ""), nil
}

// NextFormat adds a format of the schema until restore.
func NextFormat(sql string) (restore func()) {
	before := migrations
	migrations = append(migrations[:len(migrations):len(migrations)], sql)
	return func() { migrations = before }
}

// AllReminders is the statement of Reminders.All.
const AllReminders = allReminders

// ChangedShards is the statement of watches with its arguments.
func ChangedShards(typ, started, oldest string) string {
	return strings.NewReplacer("$1", typ, "$2", started, "$3", oldest).Replace(changedShards)
}
