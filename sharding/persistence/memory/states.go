package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// state is the value of one entity.
type state struct {
	value persistence.State
	last  written
}

// replace stores a value. One that was stored before is left as it is.
func (s *state) replace(by persistence.Hosting, w persistence.StateWrite) error {
	now := written{by: by, id: w.ID, after: w.After}
	switch at := s.value.Revision; {
	case at > 0 && s.last == now:
		return nil
	case at != w.After:
		return conflict(w.Entity, at, w.After)
	}
	s.value, s.last = clonedState(w.Stored()), now
	return nil
}

func clonedState(s persistence.State) persistence.State {
	s.Body, s.Tags = bytes.Clone(s.Body), slices.Clone(s.Tags)
	return s
}

// SaveStates implements persistence.States.
func (s *Store) SaveStates(
	ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) (refused []persistence.Refusal, err error) {
	err = s.call(ctx, "SaveStates", h, len(writes), func() error {
		for i, w := range writes {
			err := w.Check()
			if err == nil {
				err = s.stateOf(h.Type, w.Entity).replace(h, w)
			}
			if err != nil {
				refused = append(refused, persistence.Refusal{Index: i, Err: err})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

func (s *Store) stateOf(typ string, id protocol.EntityID) *state {
	if s.states == nil {
		s.states = map[entity]*state{}
	}
	v := s.states[entity{typ, id}]
	if v == nil {
		v = &state{}
		s.states[entity{typ, id}] = v
	}
	return v
}

// LoadStates implements persistence.States.
func (s *Store) LoadStates(
	ctx context.Context, h persistence.Hosting, ids []protocol.EntityID,
	each func(i int, s persistence.State) error,
) error {
	found := make([]persistence.State, len(ids))
	err := s.call(ctx, "LoadStates", h, len(ids), func() error {
		for i, id := range ids {
			if v := s.states[entity{h.Type, id}]; v != nil {
				found[i] = clonedState(v.value)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, v := range found {
		if v.Revision == 0 {
			continue
		}
		if err := each(i, v); err != nil {
			return err
		}
	}
	return nil
}
