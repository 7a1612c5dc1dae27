package postgres

import (
	"context"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Fence begins a hosting. See persistence.Fencer.
func (s *Store) Fence(ctx context.Context, h persistence.Hosting) error {
	if err := checkHosting(h); err != nil {
		return err
	}
	return s.repeat(ctx, "fence", h, func() error { return s.begin(ctx, h) })
}

func (s *Store) begin(ctx context.Context, h persistence.Hosting) error {
	var begun bool
	err := s.pool.QueryRow(ctx, s.sql.fence, entry(ctx, h)...).Scan(&begun)
	if err == nil && !begun {
		return persistence.ErrFenced
	}
	return err
}
