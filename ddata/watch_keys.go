package ddata

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Change is what Watch yields: the state of a key at that moment. V is crdt.Reader where Watch has
// no type.
type Change[V any] struct {
	Key   string
	Value V
	// Deleted: the key holds nothing any more. It was deleted, has expired, or its last element was
	// removed, which is one and the same to a replica: what is empty takes no room. Only a change
	// says so; Watch begins with keys that hold something.
	Deleted bool
	// Ended: the key is deleted for good. Deleted is set too, Value is empty, and there is no
	// error.
	Ended bool
}

// Watch yields the value of a key, if it has one, and then each change of it, until ctx ends,
// the node ends (the error says why), or the loop breaks. A loop that is slower than the changes
// sees the latest value and misses those between: it never holds up the node.
//
// A value that cannot be read (crdt.ErrTypeClash, crdt.ErrOverflow, crdt.ErrPanic) is yielded with
// its key and the error, and the loop may go on; every other error is the last.
func Watch[V crdt.Value[V, T], T any](ctx context.Context, r *Replicator, key Key[V]) iter.Seq2[Change[V], error] {
	return typed[V](r, r.Watch(ctx, key.name))
}

// WatchPrefix is Watch for all keys that begin with a prefix, "" for all of the role. Each
// that changed is delivered with its latest state; the order between keys is that of their first
// change not yet delivered.
func WatchPrefix[V crdt.Value[V, T], T any](ctx context.Context, r *Replicator,
	prefix string) iter.Seq2[Change[V], error] {
	return typed[V](r, r.WatchPrefix(ctx, prefix))
}

// typed reads what changes yields as V.
func typed[V crdt.Value[V, T], T any](r *Replicator,
	changes iter.Seq2[Change[crdt.Reader], error]) iter.Seq2[Change[V], error] {
	return func(yield func(Change[V], error) bool) {
		for c, err := range changes {
			t := Change[V]{Key: c.Key, Deleted: c.Deleted, Ended: c.Ended}
			if err == nil && !c.Ended { // a key that is deleted for good has nothing to read
				t.Value, err = crdt.ViewOf[V](c.Value)
				err = r.wrap("watch", c.Key, quorum.Local, err)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Watch is the function Watch without a type. crdt.Diff says what is new in a state: with it, following a large
// value costs what changes.
func (r *Replicator) Watch(ctx context.Context, key string) iter.Seq2[Change[crdt.Reader], error] {
	return r.changes(ctx, key, false)
}

// WatchPrefix is the function WatchPrefix without a type.
func (r *Replicator) WatchPrefix(ctx context.Context, prefix string) iter.Seq2[Change[crdt.Reader], error] {
	return r.changes(ctx, prefix, true)
}

func (r *Replicator) changes(ctx context.Context, key string, prefix bool) iter.Seq2[Change[crdt.Reader], error] {
	return func(yield func(Change[crdt.Reader], error) bool) {
		if err := checkSubscription(r.set, key, prefix); err != nil {
			yield(Change[crdt.Reader]{}, r.wrap("watch", key, quorum.Local, err))
			return
		}
		s := &subscription{latest: map[string]effect.Change{}, wake: make(chan struct{}, 1)}
		s.open(r, key, prefix)
		defer s.close(r)
		for {
			select {
			case <-s.wake:
			case <-ctx.Done():
				yield(Change[crdt.Reader]{}, ctx.Err())
				return
			case <-r.loop.Stopped():
				yield(Change[crdt.Reader]{}, r.refusal())
				return
			}
			for _, c := range s.take() {
				if !yield(changeOf(c), nil) {
					return
				}
			}
		}
	}
}

func changeOf(c effect.Change) Change[crdt.Reader] {
	ended := c.Reader.Deleted()
	return Change[crdt.Reader]{Key: c.Key, Value: c.Reader, Deleted: c.Deleted || ended, Ended: ended}
}

// checkSubscription accepts keys, and every prefix that a key can have.
func checkSubscription(of keyspace.Dataset, key string, prefix bool) error {
	if prefix && len(key) < len(keyspace.ReservedPrefix) && strings.HasPrefix(keyspace.ReservedPrefix, key) {
		return nil
	}
	return checkKey(of, key)
}

// subscription holds what was not delivered yet: the latest change of each key, bounded by the
// number of keys.
type subscription struct {
	id     uint64                          // of the driver's goroutine
	follow func(key string, r crdt.Reader) // if set, it gets the changes at once
	wake   chan struct{}

	mu     sync.Mutex
	order  []string
	latest map[string]effect.Change
}

func (s *subscription) open(r *Replicator, key string, prefix bool) {
	r.loop.Force(request{do: func(h *replicaHost) {
		s.id = r.number.Add(1)
		h.subs[s.id] = s
		in := replicator.Subscribe{ID: s.id, Key: key}
		if prefix {
			in = replicator.Subscribe{ID: s.id, Prefix: key, All: true}
		}
		driverOf(h).Step(time.Now(), in)
	}})
}

func (s *subscription) close(r *Replicator) {
	r.loop.Force(request{do: func(h *replicaHost) {
		delete(h.subs, s.id)
		driverOf(h).Step(time.Now(), replicator.Unsubscribe{ID: s.id})
	}})
}

// offer takes a change from the driver's goroutine.
func (s *subscription) offer(c effect.Change) {
	if s.follow != nil {
		s.follow(c.Key, c.Reader)
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

func (s *subscription) take() []effect.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]effect.Change, len(s.order))
	for i, k := range s.order {
		cs[i] = s.latest[k]
	}
	clear(s.latest)
	s.order = s.order[:0]
	return cs
}
