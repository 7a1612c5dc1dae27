package ddata

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
)

// Change is what a subscription delivers.
type Change struct {
	Key     string
	Reader  crdt.Reader // the value at that moment; crdt.Diff tells what has changed since an earlier one
	Deleted bool        // the key holds nothing any more
}

// Subscribe yields the value of a key, if it has one, and then each change of it, until ctx ends, the node ends (the error
// says why), or the loop breaks. A loop that is slower than the changes sees the latest value and misses those between: it
// never holds up anybody.
func Subscribe[V crdt.Value[V, T], T any](ctx context.Context, r *Replicator, key Key[V]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		for c, err := range r.Changes(ctx, key.name, false) {
			if err != nil {
				yield(none, err)
				return
			}
			v, err := none.View(c.Reader)
			if !yield(v, err) {
				return
			}
		}
	}
}

// Changes is Subscribe without a type, for one key or for all that begin with a prefix. The latest change of each key that changed
// is delivered; the order between keys is that of their first change not yet delivered.
func (r *Replicator) Changes(ctx context.Context, key string, prefix bool) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := checkSubscription(key, prefix); err != nil {
			yield(Change{}, wrap("subscribe", key, ReadLocal, err))
			return
		}
		s := &subscription{latest: map[string]replicator.Change{}, wake: make(chan struct{}, 1)}
		s.open(r, key, prefix)
		defer s.close(r)
		for {
			select {
			case <-s.wake:
			case <-ctx.Done():
				yield(Change{}, ctx.Err())
				return
			case <-r.loop.Stopped():
				yield(Change{}, r.refusal())
				return
			}
			for _, c := range s.take() {
				if !yield(Change{Key: c.Key, Reader: c.Reader, Deleted: c.Deleted}, nil) {
					return
				}
			}
		}
	}
}

// checkSubscription accepts keys, and every prefix that a key can have.
func checkSubscription(key string, prefix bool) error {
	if prefix && key == "" {
		return nil
	}
	return crdt.CheckKey(key)
}

// Follow calls fn with the state of each key that begins with prefix, now and after each change, from the replica's own goroutine: fn must be
// quick and must not wait for the Replicator. cancel ends it; a call that has begun may still be running when cancel returns.
func (r *Replicator) Follow(prefix string, fn func(Change)) (cancel func()) {
	s := &subscription{follow: fn}
	s.open(r, prefix, true)
	return func() { s.close(r) }
}

// subscription holds what was not delivered yet: the latest change of each key, bounded by the number of keys.
type subscription struct {
	id     uint64       // of the driver's goroutine
	follow func(Change) // if set, it gets the changes at once
	wake   chan struct{}

	mu     sync.Mutex
	order  []string
	latest map[string]replicator.Change
}

func (s *subscription) open(r *Replicator, key string, prefix bool) {
	r.loop.Force(request{do: func(d *replicaDriver) {
		d.nextID++
		s.id = d.nextID
		d.subs[s.id] = s
		in := replicator.Subscribe{ID: s.id, Key: key}
		if prefix {
			in = replicator.Subscribe{ID: s.id, Prefix: key, All: true}
		}
		d.Step(time.Now(), request{in: in})
	}})
}

func (s *subscription) close(r *Replicator) {
	r.loop.Force(request{do: func(d *replicaDriver) {
		delete(d.subs, s.id)
		d.Step(time.Now(), request{in: replicator.Unsubscribe{ID: s.id}})
	}})
}

// offer takes a change from the driver's goroutine.
func (s *subscription) offer(c replicator.Change) {
	if s.follow != nil {
		s.follow(Change{Key: c.Key, Reader: c.Reader, Deleted: c.Deleted})
		return
	}
	s.mu.Lock()
	if _, waits := s.latest[c.Key]; !waits {
		s.order = append(s.order, c.Key)
	}
	s.latest[c.Key] = c
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) take() []replicator.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]replicator.Change, len(s.order))
	for i, k := range s.order {
		cs[i] = s.latest[k]
	}
	clear(s.latest)
	s.order = s.order[:0]
	return cs
}
