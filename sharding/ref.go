package sharding

import (
	"context"

	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
)

// EntityRef is an entity's address with the way to it: telling through it saves the checks and
// look-ups of Region.Tell. It follows the entity wherever it moves, may be kept permanently, and is
// safe for concurrent use. It belongs to this process; send the id to others.
type EntityRef[M any] struct {
	region *Region[M]
	to     dataplane.Address
}

// ID is the entity's id.
func (f *EntityRef[M]) ID() string { return f.to.ID }

var _ Recipient[int] = (*EntityRef[int])(nil)

// recipient implements Recipient.
func (f *EntityRef[M]) recipient(req M) (*dataplane.Plane, *dataplane.Address, any, error) {
	return f.region.plane, &f.to, req, nil
}

// Tell is Region.Tell.
func (f *EntityRef[M]) Tell(ctx context.Context, msg M) error {
	if h := entities.HandlerOf(ctx); h != nil && !h.Holds(f.region.plane.Entities) {
		return ErrNoLease
	}
	return f.region.plane.TellTo(ctx, &f.to, msg)
}
