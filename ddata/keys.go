package ddata

import (
	"context"
	"iter"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
)

// ReplicaCount is how many replicas the quorums of this role count in the installed view: its voters with the role, this node included, those
// that do not answer too. Members that are joining are not counted, and those that are leaving are until they are gone.
func (r *Replicator) ReplicaCount() int {
	n := 0
	for _, m := range r.n.View().Members {
		if m.Full() && m.HasRole(r.role) {
			n++
		}
	}
	return n
}

// Keys yields, in order, the keys of this replica that begin with prefix and hold something, durable and volatile ones, as they are at this
// moment. What happens later does not change what is yielded.
//
// Errors: how the node ended, such as ErrClosed; replicator.ErrOverloaded; ctx's error.
func (r *Replicator) Keys(ctx context.Context, prefix string) (iter.Seq[string], error) {
	snaps, err := r.snapshots(ctx)
	if err != nil {
		return nil, r.wrap("keys", prefix, ReadLocal, err)
	}
	return func(yield func(string) bool) {
		next, stop := iter.Pull(snaps[1].Keys(prefix))
		defer stop()
		other, more := next()
		for key := range snaps[0].Keys(prefix) {
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

// snapshots returns the present state of both spaces.
func (r *Replicator) snapshots(ctx context.Context) (out [2]*crdt.Snapshot, err error) {
	if r.n.over.Load() {
		return out, r.refusal()
	}
	done := make(chan [2]*crdt.Snapshot, 1)
	if !r.loop.Post(request{do: func(d *replicaDriver) {
		done <- [2]*crdt.Snapshot{d.m.Snapshot(replicator.Volatile), d.m.Snapshot(replicator.Durable)}
	}}) {
		return out, r.refusal()
	}
	select {
	case out = <-done:
		return out, nil
	case <-ctx.Done():
		return out, ctx.Err()
	case <-r.loop.Stopped():
		return out, r.refusal()
	}
}
