package crdt

import "cmp"

// race says which of concurrent writes of a register wins.
type race int

const (
	lastWins  race = 1
	firstWins race = -1
)

// timedWrite is one write of a last- or first-writer type, decoded from an item whose payload is timestamp ‖ value.
type timedWrite struct {
	ts     Timestamp
	origin Origin
	value  string
}

// beats reports whether w wins over v: the last by timestamp, then by origin, then by bytes, or the first in that
// very order. The order is total among writes that differ, so all replicas that hold the same writes agree.
func (w timedWrite) beats(v timedWrite, rc race) bool {
	c := cmp.Or(w.ts.Compare(v.ts), cmp.Compare(w.origin, v.origin), cmp.Compare(w.value, v.value))
	return c*int(rc) > 0
}

func decodeWrite(it *Item) (w timedWrite, ok bool) {
	w.ts, w.value, ok = CutTimestamp(it.Payload)
	w.origin = it.Dot.Origin
	return w, ok
}

// winner returns the winning write at path. Payloads that cannot be decoded lose against all others.
func winner(r Reader, path string, rc race) (win timedWrite, ok bool) {
	if it, alone := r.ks.one(r.join(path)); alone {
		if it == nil {
			return win, false
		}
		return decodeWrite(it)
	}
	for _, it := range r.At(path) {
		if w, good := decodeWrite(it); good && (!ok || w.beats(win, rc)) {
			win, ok = w, true
		}
	}
	return win, ok
}

// readWinner returns the winning value at path.
func readWinner[V any](r Reader, path string, rc race) (v V, ts Timestamp, ok bool) {
	w, ok := winner(r, path, rc)
	if !ok {
		return v, ts, false
	}
	v, err := DecodeValue[V](w.value)
	return v, w.ts, err == nil
}

// putLast writes v at path with a timestamp above all that is observed there.
func putLast[V any](tx *Tx, path string, v V) error {
	return putWrite(tx, path, v, nextStamp(tx, path))
}

// nextStamp returns a timestamp above all that is observed at path.
func nextStamp(tx *Tx, path string) Timestamp {
	w, _ := winner(tx.peek(), path, lastWins)
	return w.ts.Next(tx.wall)
}

// putAt writes v at path with the given timestamp, unless an observed write there wins against it;
// then it writes nothing and returns false. A losing put must not remove what it loses to, nor stay
// as a sibling: it would come back when the winner is removed.
func putAt[V any](tx *Tx, path string, v V, ts Timestamp, rc race) (bool, error) {
	if old, ok := winner(tx.peek(), path, rc); ok {
		value, err := AppendValue(nil, v)
		if err != nil {
			return false, err
		}
		if !(timedWrite{ts: ts, origin: tx.origin, value: string(value)}).beats(old, rc) {
			return false, tx.Err()
		}
	}
	return true, putWrite(tx, path, v, ts)
}

// putWrite puts a write in the place of all that is observed at path.
func putWrite[V any](tx *Tx, path string, v V, ts Timestamp) error {
	payload, err := encodeWrite(v, ts)
	if err != nil {
		return err
	}
	return tx.Replace(path, payload)
}

func encodeWrite[V any](v V, ts Timestamp) (string, error) {
	var buf [64]byte
	payload, err := AppendValue(AppendTimestamp(buf[:0], ts), v)
	return string(payload), err
}
