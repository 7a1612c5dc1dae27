package memory

import (
	"context"
	"maps"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Holds implements persistence.Remover.
func (s *Store) Holds(ctx context.Context, typ string) (persistence.Held, error) {
	return s.typed(ctx, "Holds", typ, false)
}

// Remove implements persistence.Remover.
func (s *Store) Remove(ctx context.Context, typ string) (persistence.Held, error) {
	return s.typed(ctx, "Remove", typ, true)
}

// typed counts what there is of a type, and removes it if it is asked to.
func (s *Store) typed(ctx context.Context, name, typ string, remove bool) (held persistence.Held, err error) {
	if err := s.hooks.enter(ctx, name); err != nil {
		return held, err
	}
	s.mu.Lock()
	for at := range s.fences { // order: it counts
		if at.typ == typ {
			held.Shards++
		}
	}
	for at, h := range s.histories { // order: it counts
		if at.typ == typ {
			held.Events += int64(len(h.events))
		}
	}
	for at, of := range s.snapshots { // order: it counts
		if at.typ == typ {
			held.Snapshots += int64(len(of))
		}
	}
	for at := range s.states { // order: it counts
		if at.typ == typ {
			held.States++
		}
	}
	if remove {
		s.forget(typ)
	}
	s.mu.Unlock()
	return held, s.hooks.leave(ctx, name)
}

func (s *Store) forget(typ string) {
	maps.DeleteFunc(s.fences, func(at place, _ singleton.FencingToken) bool { return at.typ == typ })
	maps.DeleteFunc(s.histories, func(at entity, _ *history) bool { return at.typ == typ })
	maps.DeleteFunc(s.snapshots, func(at entity, _ []persistence.Snapshot) bool { return at.typ == typ })
	maps.DeleteFunc(s.states, func(at entity, _ *state) bool { return at.typ == typ })
	s.log.forget(typ)
}
