package replicated

import (
	"fmt"
	"math"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// history is the events of an entity in a view.
//
// Invariant: the events that count are numbered from deleted.number+1 without a gap.
type history struct {
	v       view
	path    string
	deleted mark
	open    bool // something that was met is not settled
}

// historyOf finds where the history of an entity begins.
func historyOf(v view, id protocol.EntityID) (h history, err error) {
	h = history{v: v, path: entityPath(id)}
	for _, it := range v.r.At(h.path + deletedSub) {
		if !v.counts(it) {
			continue
		}
		m, err := decodeMark(it)
		if err != nil {
			return history{}, err
		}
		h.met(it)
		if m.number >= h.deleted.number {
			h.deleted = m
		}
	}
	return h, nil
}

// event returns the first item of an event, nil if it is none of the history.
func (h *history) event(seq uint64) *crdt.Item {
	if seq <= h.deleted.number {
		return nil
	}
	return h.counting(h.v.r.At(numbered(h.path, eventSub, seq)))
}

// counting returns the item that counts of those at one path, nil if there is none.
func (h *history) counting(items []*crdt.Item) *crdt.Item {
	it := h.v.counting(items)
	if it != nil {
		h.met(it)
	}
	return it
}

func (h *history) met(it *crdt.Item) { h.open = h.open || !h.v.isSettled(it.Dot) }

// end returns the number of the last event. near is a number that it may be.
func (h *history) end(near uint64) uint64 {
	low := h.deleted.number // is there, or deleted
	if near > low && h.event(near) != nil {
		low = near
	}
	step := uint64(1)
	for step <= math.MaxUint64-low && h.event(low+step) != nil {
		low += step
		step *= 2
	}
	for step /= 2; step > 0; step /= 2 {
		if step <= math.MaxUint64-low && h.event(low+step) != nil {
			low += step
		}
	}
	return low
}

// fit compares a write, which has events, with the end of the history. there is what stands where its
// first event goes. stored reports that the write is there already.
func (h *history) fit(w persistence.Write, by written, there []*crdt.Item) (stored bool, err error) {
	if w.After >= h.deleted.number && w.After < math.MaxUint64 {
		if next := h.counting(there); next != nil {
			first, err := decode(h.v.r, next)
			if err != nil {
				return false, err
			}
			if first.by == by {
				return true, nil
			}
			return false, h.conflict(w)
		}
	}
	switch {
	case w.After < h.deleted.number && h.deleted.by == by:
		return true, nil
	case w.After < h.deleted.number,
		w.After > h.deleted.number && h.event(w.After) == nil,
		uint64(len(w.Events)) > math.MaxUint64-w.After:
		return false, h.conflict(w)
	}
	return false, nil
}

func (h *history) conflict(w persistence.Write) error {
	return fmt.Errorf("%w: entity %v is at %d, the write is after %d",
		persistence.ErrConflict, w.Entity, h.end(w.After), w.After)
}

// each calls fn with the first items of the events after a number, and returns where the history
// ends.
func (h *history) each(after uint64, fn func(it *crdt.Item)) persistence.End {
	last := max(after, h.deleted.number)
	if last > h.deleted.number && h.event(last) == nil {
		return persistence.End{Deleted: h.deleted.number, Last: h.end(0)}
	}
	for last < math.MaxUint64 {
		it := h.event(last + 1)
		if it == nil {
			break
		}
		last++
		fn(it)
	}
	return persistence.End{Deleted: h.deleted.number, Last: last}
}

// lastWrite returns by what the last event of a history was written. Only first events say it.
func (h *history) lastWrite(end uint64) (written, error) {
	for seq := end; seq > h.deleted.number; seq-- {
		c, err := decode(h.v.r, h.event(seq))
		if err != nil {
			return written{}, err
		}
		if c.by.known {
			return c.by, nil
		}
	}
	return h.deleted.by, nil
}

// remains returns the items of events up to a number, those that never counted too, and the marks
// except the one with that number.
func (h *history) remains(upTo uint64) (out []*crdt.Item) {
	for it := range h.v.r.Items(h.path + eventSub) {
		if n, _ := numberOf(it.Path); n > upTo {
			break
		}
		out = append(out, it)
	}
	for _, it := range h.v.r.At(h.path + deletedSub) {
		if m, err := decodeMark(it); err == nil && (m.number < upTo || !h.v.counts(it)) {
			out = append(out, it)
		}
	}
	return out
}

// isEntity reports whether a path may be that of an entity.
func isEntity(id protocol.EntityID) error {
	if len(id) > IDMax {
		return fmt.Errorf("%w: the id of an entity has %d bytes, want at most %d: %.40q…",
			persistence.ErrTooLarge, len(id), IDMax, strings.ToValidUTF8(string(id), "?"))
	}
	return nil
}
