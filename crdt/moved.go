package crdt

import (
	"fmt"
	"iter"
)

// A key that becomes durable goes from one store to another. Each store numbers the events of an
// origin on its own, so the dots of the first store would name other events in the second. An item
// that is moved therefore gets a dot of its own: the same origin, because counters and node-owned
// items read it, and a number that no event reaches. Every replica that moves the same items gives
// them the same dots, so that it does not matter how many of them do so, or when.

// Adopt inserts items of another store as move number n. The clock gets, per origin, the moved dots up to the highest
// of the items, so that it grows by one run per origin. What the clock has already is left out: it is here, or was
// removed here. All replicas must adopt the same items under one number. An item that is malformed, or was moved
// before, is an error, and nothing has changed then. The clock that was joined is returned.
func (r *Replica) Adopt(n uint16, items iter.Seq[*Item], ch *Changes) (*Clock, error) {
	if n == 0 {
		return nil, fmt.Errorf("%w: a move without a number", ErrMalformed)
	}
	last := map[Origin]uint64{}
	var moved []Item
	for it := range items {
		if it.Dot.IsMoved() || it.Dot.Seq == 0 {
			return nil, fmt.Errorf("%w: key %q: item %v cannot be moved", ErrMalformed, it.Key, it.Dot)
		}
		last[it.Dot.Origin] = max(last[it.Dot.Origin], it.Dot.Seq)
		moved = append(moved, Item{Dot: it.Dot.Moved(n), Key: it.Key, Path: it.Path, Payload: it.Payload})
	}
	clock := &Clock{}
	for o, seq := range last { // order: a clock is the same whichever order it is filled in
		first, end := Dot{Origin: o, Seq: 1}.Moved(n), Dot{Origin: o, Seq: seq}.Moved(n)
		clock.AddRange(o, first.Seq, end.Seq)
	}
	return clock, r.st.MergeDiff(clock, nil, moved, ch)
}

// Clear removes all items of a key, a marker of DeleteForever too: the key lives in another store.
func (r *Replica) Clear(key string, ch *Changes) (Group, error) {
	return r.update(key, 0, func(tx *Tx) error {
		_, err := tx.RemoveAll("")
		return err
	}, ch)
}
