package sharding

import "context"

// EntityRef is an entity's address with the way to it: telling through it saves the checks and
// look-ups of Region.Tell. It follows the entity wherever it moves, may be kept permanently, and is
// safe for concurrent use. It belongs to this process; send the id to others.
type EntityRef[M any] struct {
	region *Region[M]
	to     address
}

// ID is the entity's id.
func (f *EntityRef[M]) ID() string { return f.to.id }

// Tell is Region.Tell.
func (f *EntityRef[M]) Tell(ctx context.Context, msg M) error {
	if h := handlerOf(ctx); h != nil && !h.holds(f.region.plane) {
		return ErrNoLease
	}
	return f.region.plane.sendTo(ctx, &f.to, envelope{msg: msg})
}
