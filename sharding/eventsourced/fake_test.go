package eventsourced

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// shelf is a store in memory for all nodes of a test, which can hold calls back, fail them, and lose
// their answers.
type shelf struct {
	mu     sync.Mutex
	fences map[protocol.ShardID]persistence.Hosting
	all    map[protocol.EntityID]*history
	calls  map[string]int
	before func(ctx context.Context, op string, id protocol.EntityID) error // it has no effect after an error
	after  func(op string, id protocol.EntityID) error                      // it has taken effect
}

// history is what is stored of an entity.
type history struct {
	events    []persistence.Event
	deleted   uint64
	snapshots []persistence.Snapshot // ascending
	writes    map[uint64]uint64      // by ID: After
}

func newShelf() *shelf {
	return &shelf{
		fences: map[protocol.ShardID]persistence.Hosting{}, all: map[protocol.EntityID]*history{},
		calls: map[string]int{},
	}
}

// hook sets what happens before and after each call from now on.
func (s *shelf) hook(before func(context.Context, string, protocol.EntityID) error,
	after func(string, protocol.EntityID) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// do runs a call about an entity.
func (s *shelf) do(ctx context.Context, op string, h persistence.Hosting, id protocol.EntityID,
	fn func(*history) error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.calls[op]++
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, op, id); err != nil {
			return err
		}
	}
	s.mu.Lock()
	f := s.fences[h.Shard]
	switch {
	case h.Token.Less(f.Token):
		s.mu.Unlock()
		return persistence.ErrFenced
	case s.all[id] == nil:
		s.all[id] = &history{writes: map[uint64]uint64{}}
	}
	err := fn(s.all[id])
	s.mu.Unlock()
	if err == nil && after != nil {
		return after(op, id)
	}
	return err
}

// last is the number of the last event.
func (x *history) last() uint64 { return x.deleted + uint64(len(x.events)) }

// of looks at what is stored of an entity.
func (s *shelf) of(id protocol.EntityID, look func(*history)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[id] == nil {
		s.all[id] = &history{writes: map[uint64]uint64{}}
	}
	look(s.all[id])
}

// called is how often an operation was called.
func (s *shelf) called(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

var (
	_ persistence.Journal   = (*shelf)(nil)
	_ persistence.Snapshots = (*shelf)(nil)
)

// Fence implements persistence.Fencer.
func (s *shelf) Fence(ctx context.Context, h persistence.Hosting) error {
	return s.do(ctx, "fence", h, "", func(*history) error {
		s.fences[h.Shard] = h
		return nil
	})
}

// Append implements persistence.Journal. The client writes for one entity at a time.
func (s *shelf) Append(ctx context.Context, h persistence.Hosting,
	writes []persistence.Write) (refused []persistence.Refusal, err error) {
	for i, w := range writes {
		err = errors.Join(err, s.do(ctx, "append", h, w.Entity, func(x *history) error {
			switch after, again := x.writes[w.ID]; {
			case again && after == w.After:
			case w.After != x.last():
				refused = append(refused, persistence.Refusal{Index: i, Err: persistence.ErrConflict})
			default:
				x.writes[w.ID] = w.After
				x.events = append(x.events, w.Events...)
			}
			return nil
		}))
	}
	return refused, err
}

// Load implements persistence.Journal.
func (s *shelf) Load(ctx context.Context, h persistence.Hosting, reads []persistence.Read,
	each func(int, persistence.Event) error) (ends []persistence.End, err error) {
	for i, r := range reads {
		err = errors.Join(err, s.do(ctx, "load", h, r.Entity, func(x *history) error {
			ends = append(ends, persistence.End{Deleted: x.deleted, Last: x.last()})
			for _, e := range x.events {
				if e.Seq <= r.After {
					continue
				}
				e.Body = slices.Clone(e.Body)
				err := each(i, e)
				clear(e.Body) // it was valid until each returned
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return ends, err
}

// Delete implements persistence.Journal.
func (s *shelf) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.do(ctx, "delete", h, id, func(x *history) error {
		for len(x.events) > 0 && x.events[0].Seq <= upTo {
			x.deleted, x.events = x.events[0].Seq, x.events[1:]
		}
		return nil
	})
}

// SaveSnapshots implements persistence.Snapshots.
func (s *shelf) SaveSnapshots(ctx context.Context, h persistence.Hosting,
	snapshots []persistence.Snapshot) (refused []persistence.Refusal, err error) {
	for _, sn := range snapshots {
		err = errors.Join(err, s.do(ctx, "save", h, sn.Entity, func(x *history) error {
			x.snapshots = slices.DeleteFunc(x.snapshots, func(old persistence.Snapshot) bool {
				return old.Seq == sn.Seq
			})
			x.snapshots = append(x.snapshots, sn)
			return nil
		}))
	}
	return nil, err
}

// LoadSnapshots implements persistence.Snapshots.
func (s *shelf) LoadSnapshots(ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(int, persistence.Snapshot) error) (err error) {
	for i, r := range reads {
		err = errors.Join(err, s.do(ctx, "snapshot", h, r.Entity, func(x *history) error {
			for _, sn := range slices.Backward(x.snapshots) {
				if r.Below == 0 || sn.Seq < r.Below {
					sn.Body = slices.Clone(sn.Body)
					err := each(i, sn)
					clear(sn.Body) // it was valid until each returned
					return err
				}
			}
			return nil
		}))
	}
	return err
}

// DeleteSnapshots implements persistence.Snapshots.
func (s *shelf) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.do(ctx, "drop", h, id, func(x *history) error {
		x.snapshots = slices.DeleteFunc(x.snapshots, func(s persistence.Snapshot) bool { return s.Seq <= upTo })
		return nil
	})
}
