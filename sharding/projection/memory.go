package projection

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Memory keeps offsets in memory, for tests. It lives as long as the value does: projections of
// several nodes of one process may share one. The zero value is empty and ready. It must not be
// copied. Its methods may be called concurrently.
type Memory struct {
	mu  sync.Mutex
	all map[string]*State
}

var _ Offsets = (*Memory)(nil)

// Claim implements Offsets.
func (m *Memory) Claim(ctx context.Context, projection string, p Part) (c Claim, at Progress, err error) {
	err = m.call(ctx, projection, p.Of, func(s *State) error {
		if s.Paused {
			return ErrPaused
		}
		part := &s.Parts[p.Number]
		part.Claim++
		c, at = Claim{Projection: projection, Part: p.Number, Number: part.Claim}, part.Progress
		return nil
	})
	return c, at, err
}

// Save implements Offsets.
func (m *Memory) Save(ctx context.Context, c Claim, at Progress) error {
	return m.call(ctx, c.Projection, 0, func(s *State) error {
		if c.Part >= len(s.Parts) || s.Parts[c.Part].Claim != c.Number {
			return ErrFenced
		}
		s.Parts[c.Part].Progress = at
		return nil
	})
}

// Look implements Offsets.
func (m *Memory) Look(ctx context.Context, projection string) (out State, err error) {
	err = m.call(ctx, projection, 0, func(s *State) error {
		out = State{Paused: s.Paused, Parts: slices.Clone(s.Parts)}
		return nil
	})
	return out, err
}

// Pause implements Offsets.
func (m *Memory) Pause(ctx context.Context, projection string, paused bool) error {
	return m.call(ctx, projection, 0, func(s *State) error {
		s.Paused = paused
		return nil
	})
}

// Reset implements Offsets.
func (m *Memory) Reset(ctx context.Context, projection string, parts int, at persistence.Offset) error {
	return m.call(ctx, projection, parts, func(s *State) error {
		for i := range s.Parts {
			s.Parts[i].Claim++
			s.Parts[i].Progress = Progress{Offset: at}
		}
		return nil
	})
}

// call runs fn on the state of a projection. parts is how many it should have; 0: any.
func (m *Memory) call(ctx context.Context, projection string, parts int, fn func(*State) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]*State{}
	}
	s := m.all[projection]
	if s == nil {
		s = &State{}
		m.all[projection] = s
	}
	if parts > 0 && len(s.Parts) == 0 {
		s.Parts = make([]PartState, parts)
	}
	if parts > 0 && len(s.Parts) != parts {
		return fmt.Errorf("%w: there are offsets of %d, want %d", ErrParts, len(s.Parts), parts)
	}
	return fn(s)
}
