package journaled

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// readSnapshot is the set of the newest sound snapshot, the number of the last event in it, and that
// of the newest snapshot, which may be damaged; 0 for none.
func (h *history) readSnapshot(ctx context.Context) (ids set, from, newest uint64, err error) {
	ids = set{}
	if h.cfg.Snapshots == nil {
		return ids, 0, 0, nil
	}
	for below := uint64(0); ; {
		found := uint64(0)
		var damage error
		err := h.cfg.Snapshots.LoadSnapshots(ctx, h.hosting, []persistence.SnapshotRead{{Entity: h.id, Below: below}},
			func(_ int, s persistence.Snapshot) error {
				found = s.Seq
				ids, damage = decodeSnapshot(s)
				return nil
			})
		switch {
		case err != nil:
			return nil, 0, 0, h.named(err)
		case newest == 0:
			newest = found
		}
		if found == 0 || damage == nil {
			return ids, found, newest, nil
		}
		h.warn("a snapshot of remembered ids is damaged; an older one is taken, and the events after it",
			found, damage)
		ids, below = set{}, found
	}
}

func decodeSnapshot(s persistence.Snapshot) (set, error) {
	if s.Body == nil {
		return nil, persistence.ErrDamaged
	}
	w, err := snapshots.Decode(schema.Stored{Name: s.Name, Version: s.Version, Body: s.Body})
	if err != nil {
		return nil, err
	}
	ids := make(set, len(w.IDs))
	ids.apply(changed{Added: w.IDs})
	return ids, nil
}

// cut makes a snapshot if enough events have come since the last one, and deletes what it replaces.
// What fails leaves more than is needed; the next one tries again.
func (h *history) cut(ctx context.Context) {
	if h.cfg.Snapshots == nil || h.last-h.snapshot < uint64(h.cfg.SnapshotAfter) {
		return
	}
	if err := h.snap(ctx); err != nil {
		h.warn("no snapshot of remembered ids; the events before it stay, and the next load takes longer", h.last, err)
	}
}

func (h *history) snap(ctx context.Context) error {
	ids, err := h.read(ctx)
	if err != nil {
		return err
	}
	at := h.last
	h.snapshot = at // also when it fails: it is not tried again with each event
	stored, err := snapshots.Encode(whole{byteStrings(slices.Sorted(maps.Keys(ids)))})
	if err != nil {
		return err
	}
	refused, err := h.cfg.Snapshots.SaveSnapshots(ctx, h.hosting, []persistence.Snapshot{{
		Entity: h.id, Seq: at, Name: stored.Name, Version: stored.Version, Body: stored.Body,
		At: time.Now().Truncate(time.Microsecond),
	}})
	switch {
	case err != nil:
		return err
	case len(refused) > 0:
		return refused[0].Err
	}
	return h.forget(ctx, at)
}

// forget deletes the snapshots that are not to be kept, and the events that are in all others.
func (h *history) forget(ctx context.Context, newest uint64) error {
	oldest := newest
	for range h.cfg.KeepSnapshots - 1 {
		found := uint64(0)
		err := h.cfg.Snapshots.LoadSnapshots(ctx, h.hosting, []persistence.SnapshotRead{{Entity: h.id, Below: oldest}},
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
	if err := h.cfg.Journal.Delete(ctx, h.hosting, h.id, oldest); err != nil {
		return fmt.Errorf("events up to %d: %w", oldest, err)
	}
	if oldest == 1 {
		return nil
	}
	if err := h.cfg.Snapshots.DeleteSnapshots(ctx, h.hosting, h.id, oldest-1); err != nil {
		return fmt.Errorf("snapshots below %d: %w", oldest, err)
	}
	return nil
}

// warn writes a line of the log.
func (h *history) warn(text string, seq uint64, err error) {
	h.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("type", h.cfg.Type),
		slog.String("history", string(h.id)), slog.Uint64("event", seq), slog.Any("error", err))
}
