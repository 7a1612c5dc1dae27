package dataplane

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/failure"
)

// explain adds to an error of a message that did not get through what the region knows of its
// shard.
func (r *Plane) explain(number uint32, err error) error {
	if why := r.StoreFailure.of(number); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	if !r.Entities.Lease.Holds() { // whatever else is wrong follows from that
		return fmt.Errorf("%w (this node holds no lease: it does not reach a majority, or is no member yet)", err)
	}
	rt := r.Routes.Slots[number].Load()
	if rt != nil && rt.Buffer == nil {
		return err
	}
	if why := r.AwaitsLease(number); why != "" {
		return fmt.Errorf("%w (shard %d does not start: %s)", err, number, why)
	}
	if why := r.Standing.Unhosted(); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	if why := r.Standing.Uncoordinated(); why != nil {
		return fmt.Errorf("%w (the home of shard %d is unknown or moving: %w)", err, number, why)
	}
	return fmt.Errorf("%w (the home of shard %d is unknown or moving)", err, number)
}

// Explained is explain for the outcome of a question.
func (r *Plane) Explained(id string, err error) error {
	if err == nil || !errors.Is(err, failure.ErrTimeout) {
		return err
	}
	return r.explain(r.Routes.ShardOf(id), fmt.Errorf("%w: %s", err, r.whereAsked(id)))
}

// whereAsked says where the question of a caller that has waited in vain is, as far as this node
// knows: its entity, its shard, its home, and what the entity does.
func (r *Plane) whereAsked(id string) string {
	number := r.Routes.ShardOf(id)
	text := fmt.Sprintf("%s %q in shard %d", r.Name, id, number)
	rt := r.Routes.Slots[number].Load()
	switch {
	case rt == nil || rt.Buffer != nil:
		return text
	case rt.Local == nil:
		if v := r.Cluster.View(); v != nil {
			text += " on " + NameIn(v, view.UID(rt.Remote))
		}
		return text
	}
	e := rt.Local.Peek(id)
	if e == nil {
		return text + " on this node: it is not active"
	}
	if running := r.Entities.Slow.Running(e); running != "" {
		return text + " on this node: " + running
	}
	if waiting := r.Entities.Waits.Of(e); waiting != "" {
		return text + " on this node: " + waiting
	}
	if why := entities.AwaitsRestart(e); why != nil {
		return fmt.Sprintf("%s on this node: it waits for its restart, because it has failed: %v", text, why)
	}
	return text + " on this node: no handler of it runs"
}

// AwaitsLease says why a shard that is hosted here does not start; empty: it does.
func (r *Plane) AwaitsLease(number uint32) string {
	s := r.Routes.Hosted[number].Load()
	if s == nil || s.Lease == nil {
		return ""
	}
	why := s.Lease.Awaits()
	if why == "" {
		return ""
	}
	name := lease.ShardName(r.Leases.Cluster, r.Name, number)
	return fmt.Sprintf("it waits here for the lease %q: %s", name, why)
}
