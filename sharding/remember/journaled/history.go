package journaled

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// changed is the event that ids were added and removed. No id is in both. Ids are bytes, because a
// text of CBOR could not have all of them.
type changed struct{ Added, Removed [][]byte }

// loaded is the event that the set was loaded. Nothing that was on its way before takes effect after
// it, because its sequence number is gone.
type loaded struct{}

// whole is a snapshot of a set.
type whole struct{ IDs [][]byte }

var (
	events    = schema.CBOR(schema.Type[any]("changed", changed{}), schema.Type[any]("loaded", loaded{}))
	snapshots = schema.CBOR(schema.Type[whole]("ids", whole{}))
)

// history is that of one set.
type history struct {
	cfg     *Config
	hosting persistence.Hosting // without a token: sequence numbers alone order the writers
	id      protocol.EntityID
	turn    chan struct{} // holds the one call at a time

	// Of the holder of the turn.
	known    bool   // last and snapshot are right, as far as this process knows
	last     uint64 // number of the last event
	snapshot uint64 // of the last event in the newest snapshot, sound or not; 0: none
}

// set is what a history comes to.
type set map[protocol.EntityID]bool

func (s set) apply(c changed) {
	for _, id := range c.Added {
		s[protocol.EntityID(id)] = true
	}
	for _, id := range c.Removed {
		delete(s, protocol.EntityID(id))
	}
}

// enter waits for the turn.
func (h *history) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *history) leave() { <-h.turn }

// load is the set, after which nothing that was on its way takes effect.
func (h *history) load(ctx context.Context) ([]protocol.EntityID, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.leave()
	for {
		ids, err := h.read(ctx)
		if err != nil {
			return nil, err
		}
		switch err := h.append(ctx, loaded{}); {
		case err == nil:
			h.cut(ctx)
			return slices.Collect(maps.Keys(ids)), nil
		case !errors.Is(err, persistence.ErrConflict):
			return nil, err
		}
	}
}

// update appends a change.
func (h *history) update(ctx context.Context, c changed) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	for {
		if !h.known {
			if _, err := h.read(ctx); err != nil {
				return err
			}
		}
		err := h.append(ctx, c)
		if err == nil {
			h.cut(ctx)
			return nil
		}
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
	}
}

// append writes one event at the end of the history. After a failure the end is not known any more.
func (h *history) append(ctx context.Context, event any) error {
	stored, err := events.Encode(event)
	if err != nil {
		return err
	}
	h.known = false
	refused, err := h.cfg.Journal.Append(ctx, h.hosting, []persistence.Write{{
		Entity: h.id, After: h.last, ID: rand.Uint64(),
		Events: []persistence.Event{{
			Seq: h.last + 1, Name: stored.Name, Version: stored.Version, Body: stored.Body,
			At: time.Now().Truncate(time.Microsecond),
		}},
	}})
	switch {
	case err != nil:
		return h.named(err)
	case len(refused) > 0:
		return h.named(refused[0].Err)
	}
	h.known = true
	h.last++
	return nil
}

// named is an error with the history that it is about.
func (h *history) named(err error) error {
	return fmt.Errorf("remembered ids of %s, %s: %w", h.cfg.Type, h.id, err)
}

// read is the set as the journal has it. It comes from the newest snapshot that is sound, and from
// the events after it. Another process may delete these events in between: then there is a newer
// snapshot.
func (h *history) read(ctx context.Context) (set, error) {
	for was, again := uint64(0), false; ; again = true {
		ids, from, newest, err := h.readSnapshot(ctx)
		if err != nil {
			return nil, err
		}
		end, err := h.readEvents(ctx, ids, from)
		if err != nil {
			return nil, err
		}
		if end.Deleted <= from {
			h.last, h.snapshot, h.known = end.Last, newest, true
			return ids, nil
		}
		if again && newest <= was {
			return nil, h.named(fmt.Errorf("%w: events up to %d were deleted, and the last sound snapshot is of %d",
				persistence.ErrDamaged, end.Deleted, from))
		}
		was = newest
	}
}

// readEvents applies the events after a number to a set.
func (h *history) readEvents(ctx context.Context, ids set, from uint64) (persistence.End, error) {
	ends, err := h.cfg.Journal.Load(ctx, h.hosting, []persistence.Read{{Entity: h.id, After: from}},
		func(_ int, e persistence.Event) error {
			v, err := events.Decode(schema.Stored{Name: e.Name, Version: e.Version, Body: e.Body})
			if err != nil {
				return fmt.Errorf("%w: event %d: %w", persistence.ErrDamaged, e.Seq, err)
			}
			if c, is := v.(changed); is {
				ids.apply(c)
			}
			return nil
		})
	if err != nil {
		return persistence.End{}, h.named(err)
	}
	return ends[0], nil
}
