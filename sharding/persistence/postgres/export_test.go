package postgres

import (
	"context"

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

// NextFormat adds a format of the schema until restore. There is one so far.
func NextFormat(sql string) (restore func()) {
	before := migrations
	migrations = append(migrations[:len(migrations):len(migrations)], sql)
	return func() { migrations = before }
}
