package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// history is the events of one entity.
//
// Invariant: events are numbered from deleted+1 without a gap.
type history struct {
	deleted uint64
	events  []persistence.Event // never changed once they are here
	damaged map[uint64]bool     // by number; replaced when it changes
	last    written
}

func (h *history) end() uint64 { return h.deleted + uint64(len(h.events)) }

// maybeAppend returns the events that a write adds. They are none if it was stored before.
func (h *history) maybeAppend(by persistence.Hosting, w persistence.Write) ([]persistence.Event, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	now := written{by: by, id: w.ID, after: w.After}
	switch end := h.end(); {
	case end > 0 && h.last == now:
		return nil, nil
	case end != w.After:
		return nil, conflict(w.Entity, end, w.After)
	}
	events := make([]persistence.Event, len(w.Events))
	for i, e := range w.Events {
		events[i] = cloned(e)
		events[i].Seq = w.After + uint64(i) + 1
	}
	h.events = append(h.events, events...)
	h.last = now
	return events, nil
}

func cloned(e persistence.Event) persistence.Event {
	e.Body, e.Tags = bytes.Clone(e.Body), slices.Clone(e.Tags)
	return e
}

// Append implements persistence.Journal.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	err = s.call(ctx, "Append", h, len(writes), func() error {
		for i, w := range writes {
			events, err := s.historyOf(h.Type, w.Entity).maybeAppend(h, w)
			if err != nil {
				refused = append(refused, persistence.Refusal{Index: i, Err: err})
			}
			s.log.append(h.Type, w.Entity, events)
		}
		s.log.announce()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

func (s *Store) historyOf(typ string, id protocol.EntityID) *history {
	if s.histories == nil {
		s.histories = map[entity]*history{}
	}
	h := s.histories[entity{typ, id}]
	if h == nil {
		h = &history{}
		s.histories[entity{typ, id}] = h
	}
	return h
}

// Load implements persistence.Journal.
func (s *Store) Load(
	ctx context.Context, h persistence.Hosting, reads []persistence.Read, each func(i int, e persistence.Event) error,
) ([]persistence.End, error) {
	ends := make([]persistence.End, len(reads))
	found, damaged := make([][]persistence.Event, len(reads)), make([]map[uint64]bool, len(reads))
	err := s.call(ctx, "Load", h, len(reads), func() error {
		for i, r := range reads {
			of := s.historyOf(h.Type, r.Entity)
			ends[i] = persistence.End{Deleted: of.deleted, Last: of.end()}
			if first := max(r.After, of.deleted); first < of.end() {
				found[i], damaged[i] = of.events[first-of.deleted:], of.damaged
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, events := range found {
		for _, e := range events {
			if damaged[i][e.Seq] {
				return nil, damage(h.Type, reads[i].Entity, e.Seq)
			}
			if err := each(i, cloned(e)); err != nil {
				return nil, err
			}
		}
	}
	return ends, nil
}

// Delete implements persistence.Journal.
func (s *Store) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.call(ctx, "Delete", h, 0, func() error {
		of := s.historyOf(h.Type, id)
		if upTo = min(upTo, of.end()); upTo > of.deleted {
			of.events = slices.Clone(of.events[upTo-of.deleted:])
			of.deleted = upTo
		}
		return nil
	})
}
