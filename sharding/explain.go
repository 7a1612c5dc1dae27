package sharding

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership"
)

// explain adds to an error of a message that did not get through what the region knows of its
// shard.
func (r *core) explain(number uint32, err error) error {
	if why := r.storeFailure.of(number); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	rt := r.routes.slots[number].Load()
	if rt != nil && rt.buffer == nil {
		return err
	}
	if why := r.awaitsLease(number); why != "" {
		return fmt.Errorf("%w (shard %d does not start: %s)", err, number, why)
	}
	if why := r.standing.unhosted(); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	if why := r.standing.uncoordinated(); why != nil {
		return fmt.Errorf("%w (the home of shard %d is unknown or moving: %w)", err, number, why)
	}
	return fmt.Errorf("%w (the home of shard %d is unknown or moving)", err, number)
}

// explained is explain for the outcome of a question.
func (r *core) explained(id string, err error) error {
	if err == nil || !errors.Is(err, ErrTimeout) {
		return err
	}
	return r.explain(r.routes.shardOf(id), fmt.Errorf("%w: %s", err, r.whereAsked(id)))
}

// whereAsked says where the question of a caller that has waited in vain is, as far as this node
// knows: its entity, its shard, its home, and what the entity does.
func (r *core) whereAsked(id string) string {
	number := r.routes.shardOf(id)
	text := fmt.Sprintf("%s %q in shard %d", r.name, id, number)
	rt := r.routes.slots[number].Load()
	switch {
	case rt == nil || rt.buffer != nil:
		return text
	case rt.local == nil:
		if v := r.cluster.View(); v != nil {
			text += " on " + nameIn(v, membership.UID(rt.remote))
		}
		return text
	}
	e := rt.local.entities.find(id)
	if e == nil {
		return text + " on this node: it is not active"
	}
	if running := r.slow.runningHandler(e); running != "" {
		return text + " on this node: " + running
	}
	return text + " on this node: no handler of it runs"
}
