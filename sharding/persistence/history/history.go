package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// History is that of one value. Its methods may be called concurrently.
type History[S any] struct {
	cfg  *Config
	form *Form[S]
	id   protocol.EntityID
	turn chan struct{} // has a token for the one change at a time

	mu      sync.Mutex
	end     end
	cutting bool
}

// end is where a history ends, as far as this process knows.
type end struct {
	known    bool
	last     uint64                 // number of the last event
	snapshot uint64                 // of the last event in the newest snapshot, sound or not; 0: none
	latest   singleton.FencingToken // highest token of an event
}

// New makes the history of an entity of the Journal. It calls no store. cfg has its defaults.
func New[S any](cfg *Config, form *Form[S], id protocol.EntityID) *History[S] {
	h := &History[S]{cfg: cfg, form: form, id: id, turn: make(chan struct{}, 1)}
	h.leave()
	return h
}

// enter waits for the turn.
func (h *History[S]) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.cfg.Scheduler.Await(h.turn, ctx.Done(), nil) == 1 {
		return fmt.Errorf("%s, %s: an earlier call is still under way: %w", h.cfg.What, h.id, ctx.Err())
	}
	return nil
}

func (h *History[S]) leave() { h.turn <- struct{}{} }

// now is the time as a journal keeps it.
func (h *History[S]) now() time.Time { return h.cfg.Scheduler.Now().Truncate(time.Microsecond) }

// Load is the value.
func (h *History[S]) Load(ctx context.Context, by persistence.Hosting) (S, error) {
	f, err := h.read(ctx, by)
	return f.value, err
}

// LoadAfter is the value after mark, which is appended. Nothing that was on its way before takes
// effect after it, because its sequence number is gone. due is as that of Change.
//
// Errors: those of the stores; persistence.ErrFenced if the value has heard of a later token than
// mark has. Then nothing is appended.
func (h *History[S]) LoadAfter(ctx context.Context, by persistence.Hosting, mark any) (v S, due bool, err error) {
	if err := h.enter(ctx); err != nil {
		return v, false, err
	}
	defer h.leave()
	for {
		f, err := h.read(ctx, by)
		if err != nil {
			return v, false, err
		}
		h.ends(f.end)
		switch due, err := h.append(ctx, by, mark); {
		case err == nil:
			h.form.Apply(f.value, mark)
			return f.value, due, nil
		case !errors.Is(err, persistence.ErrConflict):
			return v, false, err
		}
	}
}

// Change appends an event. due reports whether Cut has something to do. Errors are as those of
// LoadAfter.
func (h *History[S]) Change(ctx context.Context, by persistence.Hosting, event any) (due bool, err error) {
	if err := h.enter(ctx); err != nil {
		return false, err
	}
	defer h.leave()
	for {
		if !h.ended().known {
			f, err := h.read(ctx, by)
			if err != nil {
				return false, err
			}
			h.ends(f.end)
		}
		due, err := h.append(ctx, by, event)
		if err == nil || !errors.Is(err, persistence.ErrConflict) {
			return due, err
		}
	}
}

func (h *History[S]) ended() end {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end
}

// ends notes where the history ends.
func (h *History[S]) ends(at end) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = at
}

// append writes one event at the end of the history. After a failure the end is not known any more.
// The caller has the turn.
func (h *History[S]) append(ctx context.Context, by persistence.Hosting, event any) (due bool, err error) {
	stored, err := h.form.Events.Encode(event)
	if err != nil {
		return false, err
	}
	at, token := h.ended(), h.form.token(event)
	if !token.IsZero() && token.Less(at.latest) {
		return false, h.named(fmt.Errorf("%w: %v after %v", persistence.ErrFenced, at.latest, token))
	}
	last := at.last
	h.mu.Lock()
	h.end.known = false
	h.mu.Unlock()
	refused, err := h.cfg.Journal.Append(ctx, by, []persistence.Write{{
		Entity: h.id, After: last, ID: h.cfg.Scheduler.Uint64(),
		Events: []persistence.Event{{
			Seq: last + 1, Name: stored.Name, Version: stored.Version, Body: stored.Body,
			At: h.now(),
		}},
	}})
	switch {
	case err != nil:
		return false, h.named(err)
	case len(refused) > 0:
		return false, h.named(refused[0].Err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end.known, h.end.last = true, last+1
	if h.end.latest.Less(token) {
		h.end.latest = token
	}
	return h.cfg.Snapshots != nil && !h.cutting && h.end.last-h.end.snapshot >= uint64(h.cfg.SnapshotAfter), nil
}

// named is an error with the history that it is about.
func (h *History[S]) named(err error) error { return fmt.Errorf("%s, %s: %w", h.cfg.What, h.id, err) }
