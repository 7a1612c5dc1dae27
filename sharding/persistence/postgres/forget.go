package postgres

import (
	"context"
	"math"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Delete forgets the events of an entity up to a sequence number. See persistence.Journal.
func (s *Store) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.forget(ctx, "delete", s.sql.forget, h, id, upTo)
}

func (s *Store) forget(
	ctx context.Context, op, sql string, h persistence.Hosting, id protocol.EntityID, upTo uint64,
) error {
	if err := checkHosting(h); err != nil {
		return err
	}
	return s.enter(ctx, op, h, func() (entered *int64, err error) {
		err = s.pool.QueryRow(ctx, sql, entry(ctx, h, []byte(id), int64(min(upTo, math.MaxInt64)))...).Scan(&entered)
		return entered, err
	})
}
