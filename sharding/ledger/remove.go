package ledger

import (
	"context"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Remove forgets the homes and the regions of an entity type while all its nodes are stopped. Its
// shards get homes anew with the next start. The token of the last term goes with them, so that a
// founder whose wall clock is behind can begin.
func Remove(ctx context.Context, from persistence.Remover, entityType string) (persistence.Held, error) {
	return from.Remove(ctx, TypeName(entityType))
}

// Holds counts what Remove would forget.
func Holds(ctx context.Context, of persistence.Remover, entityType string) (persistence.Held, error) {
	return of.Holds(ctx, TypeName(entityType))
}
