package ddata

import (
	"context"
	"iter"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// ReplicaCount is how many replicas the quorums of this role count in the installed view: its
// voters with the role, this node included, those that do not answer too. Members that are joining
// are not counted, and those that are leaving are until they are gone.
func (r *Replicator) ReplicaCount() int {
	n := 0
	for _, m := range r.n.View().Members {
		if m.Full() && m.HasRole(r.set.Role) {
			n++
		}
	}
	return n
}

// Keys yields, in order, the keys of this replica that begin with prefix and hold something,
// durable and volatile ones, as they are at this moment. What happens later does not change what is
// yielded.
//
// Errors: how the node ended, such as ErrClosed; operation.ErrOverloaded; ctx's error.
func (r *Replicator) Keys(ctx context.Context, prefix string) (iter.Seq[string], error) {
	state, err := r.state(ctx)
	if err != nil {
		return nil, r.wrap("keys", prefix, quorum.Local, err)
	}
	return func(yield func(string) bool) {
		next, stop := iter.Pull(state.keysOf(keyspace.Durable, prefix))
		defer stop()
		other, more := next()
		for key := range state.keysOf(keyspace.Volatile, prefix) {
			for ; more && other < key; other, more = next() {
				if !yield(other) {
					return
				}
			}
			if !yield(key) {
				return
			}
		}
		for ; more; other, more = next() {
			if !yield(other) {
				return
			}
		}
	}, nil
}

// keysOf yields the keys that live in a space. The other one may hold items of a key that moves.
func (p *published) keysOf(s keyspace.Space, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range p.snaps[s].Keys(prefix) {
			if p.routes.SpaceOf(key) == s && !yield(key) {
				return
			}
		}
	}
}

// state returns the present state of both spaces.
func (r *Replicator) state(ctx context.Context) (*published, error) {
	if r.n.life.over.Load() {
		return nil, r.refusal()
	}
	done := make(chan *published, 1)
	if !r.loop.Post(request{do: func(h *replicaHost) { done <- h.state(0) }}) {
		return nil, r.refusal()
	}
	select {
	case now := <-done:
		return now, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.loop.Stopped():
		return nil, r.refusal()
	}
}
