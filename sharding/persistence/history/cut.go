package history

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Cut makes a snapshot and deletes what it replaces. It holds up no Change. What fails leaves more
// than is needed, and a line of the log; the next one tries again, after as many events.
func (h *History[S]) Cut(ctx context.Context, by persistence.Hosting) {
	h.mu.Lock()
	last, busy := h.end.last, h.cutting
	h.cutting = true
	h.mu.Unlock()
	if busy {
		return
	}
	at, err := h.snap(ctx, by)
	h.mu.Lock()
	h.cutting = false
	h.end.snapshot = max(h.end.snapshot, at, last) // also when it failed: it is not tried again with each event
	h.mu.Unlock()
	if err != nil {
		h.warn("no snapshot; the events before it stay, and the next load takes longer", last, err)
	}
}

// snap makes a snapshot of what the journal has now. It returns the number of the last event in it.
func (h *History[S]) snap(ctx context.Context, by persistence.Hosting) (at uint64, err error) {
	f, err := h.read(ctx, by)
	if err != nil {
		return 0, err
	}
	stored, err := h.form.Snapshots.Encode(h.form.Whole(f.value))
	if err != nil {
		return 0, err
	}
	refused, err := h.cfg.Snapshots.SaveSnapshots(ctx, by, []persistence.Snapshot{{
		Entity: h.id, Seq: f.end.last, Name: stored.Name, Version: stored.Version, Body: stored.Body,
		At: h.now(),
	}})
	switch {
	case err != nil:
		return f.end.last, err
	case len(refused) > 0:
		return f.end.last, refused[0].Err
	}
	return f.end.last, h.forget(ctx, by, f.end.last)
}

// forget deletes the snapshots that are not to be kept, and the events that are in all others.
func (h *History[S]) forget(ctx context.Context, by persistence.Hosting, newest uint64) error {
	oldest := newest
	for range h.cfg.KeepSnapshots - 1 {
		found := uint64(0)
		err := h.cfg.Snapshots.LoadSnapshots(ctx, by, []persistence.SnapshotRead{{Entity: h.id, Below: oldest}},
			func(_ int, s persistence.Snapshot) error {
				found = s.Seq
				return nil
			})
		if err != nil {
			return err
		}
		if found == 0 {
			return nil // there are not more than are kept
		}
		oldest = found
	}
	return h.deleteUpTo(ctx, by, oldest)
}

// deleteUpTo deletes the events up to a number, and the snapshots below it.
func (h *History[S]) deleteUpTo(ctx context.Context, by persistence.Hosting, number uint64) error {
	if err := h.cfg.Journal.Delete(ctx, by, h.id, number); err != nil {
		return fmt.Errorf("events up to %d: %w", number, err)
	}
	if number == 1 || h.cfg.Snapshots == nil {
		return nil
	}
	if err := h.cfg.Snapshots.DeleteSnapshots(ctx, by, h.id, number-1); err != nil {
		return fmt.Errorf("snapshots below %d: %w", number, err)
	}
	return nil
}

// warn writes a line of the log.
func (h *History[S]) warn(text string, seq uint64, err error) {
	h.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, h.cfg.What+": "+text,
		slog.String("history", string(h.id)), slog.Uint64("event", seq), slog.Any("error", err))
}
