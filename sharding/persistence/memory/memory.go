package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Store is a store in memory. The zero value is empty and ready. It must not be copied. Its methods
// may be called concurrently.
type Store struct {
	hooks hooks

	mu        sync.Mutex
	id        uint64                           // drawn when it is asked for
	fences    map[place]singleton.FencingToken // the highest token of each shard
	histories map[entity]*history
	snapshots map[entity][]persistence.Snapshot // in the order of their numbers
	states    map[entity]*state
	log       log
}

var (
	_ persistence.Journal   = (*Store)(nil)
	_ persistence.Snapshots = (*Store)(nil)
	_ persistence.States    = (*Store)(nil)
	_ persistence.Reader    = (*Store)(nil)
	_ persistence.Remover   = (*Store)(nil)
)

// ID was drawn for this Store: no other one, here or in another process, has what it holds.
func (s *Store) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		s.id = rand.Uint64() | 1
	}
	return fmt.Sprintf("memory %016x", s.id)
}

// place is a shard of a type.
type place struct {
	typ   string
	shard protocol.ShardID
}

// entity is an entity of a type.
type entity struct {
	typ string
	id  protocol.EntityID
}

// written says which write made the end of a history or the value of a state.
type written struct {
	by    persistence.Hosting
	id    uint64
	after uint64
}

// Fence implements persistence.Fencer.
func (s *Store) Fence(ctx context.Context, h persistence.Hosting) error {
	return s.call(ctx, "Fence", h, 0, func() error {
		if s.fences == nil {
			s.fences = map[place]singleton.FencingToken{}
		}
		s.fences[place{h.Type, h.Shard}] = h.Token
		return nil
	})
}

// call runs fn, which is the effect of a call, at one moment between its hooks.
func (s *Store) call(ctx context.Context, name string, h persistence.Hosting, elements int, fn func() error) error {
	if err := s.hooks.enter(ctx, name); err != nil {
		return err
	}
	if err := s.locked(h, elements, fn); err != nil {
		return err
	}
	return s.hooks.leave(ctx, name)
}

func (s *Store) locked(h persistence.Hosting, elements int, fn func() error) error {
	if err := persistence.CheckCall(h, elements); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fence := s.fences[place{h.Type, h.Shard}]; h.Token.Less(fence) {
		return fmt.Errorf("%w: shard %v of %q, %v after %v", persistence.ErrFenced, h.Shard, h.Type, fence, h.Token)
	}
	return fn()
}

func conflict(id protocol.EntityID, last, after uint64) error {
	return fmt.Errorf("%w: entity %v is at %d, the write is after %d", persistence.ErrConflict, id, last, after)
}
