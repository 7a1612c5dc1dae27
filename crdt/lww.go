package crdt

import (
	"cmp"
	"fmt"
)

// lwwWrite is one write of a last-writer type, decoded from an item whose payload is timestamp ‖ value.
type lwwWrite struct {
	ts     Timestamp
	origin Origin
	value  string
	item   *Item // nil: not an item yet
}

// compare says which write wins: the higher timestamp, then the higher origin, then the higher bytes.
func (w lwwWrite) compare(v lwwWrite) int {
	if c := w.ts.Compare(v.ts); c != 0 {
		return c
	}
	if c := cmp.Compare(w.origin, v.origin); c != 0 {
		return c
	}
	return cmp.Compare(w.value, v.value)
}

func lwwDecode(it *Item) (w lwwWrite, ok bool) {
	w.ts, w.value, ok = cutTimestamp(it.Payload)
	w.origin, w.item = it.Dot.Origin, it
	return w, ok
}

// lwwWinner returns the winning write at path. Payloads that cannot be decoded lose against all others.
func lwwWinner(r Reader, path string) (win lwwWrite, ok bool) {
	if it, alone := r.ks.one(r.join(path)); alone {
		if it == nil {
			return win, false
		}
		return lwwDecode(it)
	}
	for _, it := range r.At(path) {
		if w, good := lwwDecode(it); good && (!ok || w.compare(win) > 0) {
			win, ok = w, true
		}
	}
	return win, ok
}

// lwwRead returns the winning value at path.
func lwwRead[V any](r Reader, path string) (v V, ts Timestamp, ok bool) {
	w, ok := lwwWinner(r, path)
	if !ok {
		return v, ts, false
	}
	v, err := decodeValue[V](w.value)
	return v, w.ts, err == nil
}

// lwwPut writes v at path with a timestamp above all that is observed there.
func lwwPut[V any](tx *Tx, path string, v V) error {
	ts, err := lwwNext(tx, path)
	if err != nil {
		return err
	}
	return lwwReplace(tx, path, v, ts)
}

// lwwNext returns a timestamp above all that is observed at path.
func lwwNext(tx *Tx, path string) (Timestamp, error) {
	w, _ := lwwWinner(tx.peek(), path)
	ts, ok := w.ts.next(tx.wall)
	if !ok {
		return ts, fmt.Errorf("%w: key %q: no timestamp above %v", ErrOverflow, tx.key, w.ts)
	}
	return ts, nil
}

// lwwPutAt writes v at path with the given timestamp, unless an observed write there wins against it; then it writes nothing and returns
// false. A losing put must not remove what it loses to, nor stay as a sibling: it would come back when the winner is removed.
func lwwPutAt[V any](tx *Tx, path string, v V, ts Timestamp) (bool, error) {
	if old, ok := lwwWinner(tx.peek(), path); ok {
		value, err := appendValue(nil, v)
		if err != nil {
			return false, err
		}
		if (lwwWrite{ts: ts, origin: tx.origin, value: string(value)}).compare(old) <= 0 {
			return false, tx.usable()
		}
	}
	return true, lwwReplace(tx, path, v, ts)
}

func lwwReplace[V any](tx *Tx, path string, v V, ts Timestamp) error {
	var buf [64]byte
	payload, err := appendValue(appendTimestamp(buf[:0], ts), v)
	if err != nil {
		return err
	}
	return tx.Replace(path, string(payload))
}
