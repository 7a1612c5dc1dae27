package direct

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// fences are the latest hostings of shards that the stores were told of. The zero value is empty.
type fences struct {
	mu      sync.Mutex
	byShard map[protocol.ShardID]*fence
}

// of is the fence of a hosting. One that is over has one of its own, and the stores refuse it.
func (s *fences) of(h persistence.Hosting) *fence {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byShard[h.Shard]
	if f != nil && f.hosting == h {
		return f
	}
	next := &fence{hosting: h, turn: make(chan struct{}, 1)}
	if f == nil || f.hosting.Token.Less(h.Token) {
		if s.byShard == nil {
			s.byShard = map[protocol.ShardID]*fence{}
		}
		s.byShard[h.Shard] = next
	}
	return next
}

// fence says which stores were told of a hosting.
type fence struct {
	hosting persistence.Hosting
	turn    chan struct{} // full while a store is told
	told    [kinds]bool   // with the turn
}

// tell has a store know of the hosting.
func (f *fence) tell(ctx context.Context, k kind, store persistence.Fencer) error {
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.turn }()
	if f.told[k] {
		return nil
	}
	err := store.Fence(ctx, f.hosting)
	f.told[k] = err == nil
	return err
}

// refused reports whether an error is an answer of the store. A repeated call would get the same.
func refused(err error) bool {
	return slices.ContainsFunc([]error{
		persistence.ErrFenced, persistence.ErrConflict, persistence.ErrTooLarge, persistence.ErrDamaged,
		persistence.ErrForeign, persistence.ErrVersion,
	}, func(answer error) bool { return errors.Is(err, answer) })
}
