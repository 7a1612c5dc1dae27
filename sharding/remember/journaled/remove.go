package journaled

import (
	"context"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Remove forgets the remembered ids of an entity type while all its nodes are stopped. No entity of
// it starts by itself afterwards. Stores that are open must be opened again.
func Remove(ctx context.Context, from persistence.Remover, entityType string) (persistence.Held, error) {
	return from.Remove(ctx, TypeName(entityType))
}

// Holds counts what Remove would forget.
func Holds(ctx context.Context, of persistence.Remover, entityType string) (persistence.Held, error) {
	return of.Holds(ctx, TypeName(entityType))
}
