package history

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// found is a value, and where its history ends.
type found[S any] struct {
	value S
	end   end
}

// read is the value as the journal has it. It comes from the newest snapshot that is sound, and from
// the events after it. Another process may delete these events in between: then there is a newer
// snapshot.
func (h *History[S]) read(ctx context.Context, by persistence.Hosting) (found[S], error) {
	var none found[S]
	for was, again := uint64(0), false; ; again = true {
		v, from, newest, err := h.readSnapshot(ctx, by)
		if err != nil {
			return none, err
		}
		at, err := h.readEvents(ctx, by, v, from)
		if err != nil {
			return none, err
		}
		if at.Deleted <= from {
			return found[S]{v, end{
				known: true, last: at.Last, snapshot: newest, latest: h.form.latest(v),
			}}, nil
		}
		if again && newest <= was {
			return none, h.named(fmt.Errorf("%w: events up to %d were deleted, and the last sound snapshot is of %d",
				persistence.ErrDamaged, at.Deleted, from))
		}
		was = newest
	}
}

// readSnapshot is the value of the newest sound snapshot, the number of the last event in it, and
// that of the newest snapshot, which may be damaged; 0 for none.
func (h *History[S]) readSnapshot(ctx context.Context, by persistence.Hosting) (v S, from, newest uint64, err error) {
	if h.cfg.Snapshots == nil {
		return h.form.Empty(), 0, 0, nil
	}
	for below := uint64(0); ; {
		v = h.form.Empty()
		found := uint64(0)
		var damage error
		err := h.cfg.Snapshots.LoadSnapshots(ctx, by, []persistence.SnapshotRead{{Entity: h.id, Below: below}},
			func(_ int, s persistence.Snapshot) error {
				found = s.Seq
				v, damage = h.form.ofSnapshot(s)
				return nil
			})
		switch {
		case err != nil:
			return v, 0, 0, h.named(err)
		case newest == 0:
			newest = found
		}
		if found == 0 || damage == nil {
			return v, found, newest, nil
		}
		h.warn("a snapshot is damaged; an older one is taken, and the events after it", found, damage)
		below = found
	}
}

// readEvents applies the events after a number to a value.
func (h *History[S]) readEvents(
	ctx context.Context, by persistence.Hosting, v S, from uint64,
) (persistence.End, error) {
	ends, err := h.cfg.Journal.Load(ctx, by, []persistence.Read{{Entity: h.id, After: from}},
		func(_ int, e persistence.Event) error { return h.form.apply(v, e) })
	if err != nil {
		return persistence.End{}, h.named(err)
	}
	return ends[0], nil
}
