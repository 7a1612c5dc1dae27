package crdt

import (
	"fmt"
	"iter"
)

// PNCounterMap is the view of a map of counters that go up and down. Each origin keeps its balance
// of a key in one item, at kind ‖ segment of the key ‖ origin in eight bytes, as PNCounter does. A
// key is there while such an item lives.
//
// Remove takes the balances away that it observed. An increment of the key that is concurrent with
// it leaves the balance of its own origin, what that had counted before included: each origin keeps
// one number. What other origins had counted does not come back. What removed origins have left at
// a key may be folded, see Replica.FoldOf.
type PNCounterMap[K comparable] struct{ r Reader }

var _ Value[PNCounterMap[string], *PNCounterMapTx[string]] = PNCounterMap[string]{}

// Kind returns KindPNCounterMap.
func (PNCounterMap[K]) Kind() Kind { return KindPNCounterMap }

// View reads a map. A key that holds another type, or whose first item is no count of a K, is
// ErrTypeClash.
func (PNCounterMap[K]) View(r Reader) (PNCounterMap[K], error) {
	path, rest, err := checkKeys[K](r, KindPNCounterMap)
	if err == nil && path != "" && len(rest) != 8 {
		err = fmt.Errorf("%w: key %q: %q is no origin", ErrTypeClash, r.Key(), rest)
	}
	if err != nil {
		return PNCounterMap[K]{}, err
	}
	return PNCounterMap[K]{r: r}, nil
}

// Mutator returns the map's mutator.
func (PNCounterMap[K]) Mutator(tx *Tx) *PNCounterMapTx[K] { return (*PNCounterMapTx[K])(tx) }

// Value returns the counter of k, 0 when there is none. A sum that is no int64 is ErrOverflow, and
// counting back mends it.
func (m PNCounterMap[K]) Value(k K) (int64, error) {
	path, err := SegmentPath(KindPNCounterMap, k)
	if err != nil {
		return 0, err
	}
	return readBalance(m.r, path)
}

// Contains reports whether k is in the map.
func (m PNCounterMap[K]) Contains(k K) bool {
	path, err := SegmentPath(KindPNCounterMap, k)
	return err == nil && !m.r.Under(path).Empty()
}

// Len counts the keys, with a descent for each.
func (m PNCounterMap[K]) Len() int { return countKeys[K](m.r, KindPNCounterMap) }

// All yields the keys and their counters in the order of the encoded keys: strings by bytes,
// integers by value. What cannot be decoded, and a counter that has overflowed, is left out.
func (m PNCounterMap[K]) All() iter.Seq2[K, int64] {
	return func(yield func(K, int64) bool) {
		for k, path := range keysOf[K](m.r, KindPNCounterMap) {
			if n, err := readBalance(m.r, path); err == nil && !yield(k, n) {
				return
			}
		}
	}
}

// PNCounterMapTx changes a map within an Update. Its reads see its writes.
type PNCounterMapTx[K comparable] Tx

// Increment adds n, which may be negative, to the counter of k. 0 puts a counter where there is
// none and else changes nothing. A value, or a balance of this origin alone, beyond int64 is
// ErrOverflow and changes nothing.
func (m *PNCounterMapTx[K]) Increment(k K, n int64) error { return m.count(k, wideOf(n)) }

// Decrement subtracts n, with the same limits.
func (m *PNCounterMapTx[K]) Decrement(k K, n int64) error { return m.count(k, wideOf(n).negative()) }

func (m *PNCounterMapTx[K]) count(k K, n wide) error {
	path, err := SegmentPath(KindPNCounterMap, k)
	if err != nil {
		return err
	}
	if n == (wide{}) && !(*Tx)(m).peek().Under(path).Empty() {
		return (*Tx)(m).Err()
	}
	return addBalance((*Tx)(m), path, n)
}

// Remove takes k out of the map. Increments that this replica has not seen yet survive, see
// PNCounterMap.
func (m *PNCounterMapTx[K]) Remove(k K) error {
	path, err := SegmentPath(KindPNCounterMap, k)
	if err != nil {
		return err
	}
	_, err = (*Tx)(m).RemoveAll(path)
	return err
}

// Clear takes out every key that is there.
func (m *PNCounterMapTx[K]) Clear() error {
	_, err := (*Tx)(m).RemoveAll("")
	return err
}

// Value returns the counter of k, 0 when there is none.
func (m *PNCounterMapTx[K]) Value(k K) (int64, error) {
	return PNCounterMap[K]{r: (*Tx)(m).peek()}.Value(k)
}

// Contains reports whether k is in the map.
func (m *PNCounterMapTx[K]) Contains(k K) bool {
	return PNCounterMap[K]{r: (*Tx)(m).peek()}.Contains(k)
}

// Len counts the keys.
func (m *PNCounterMapTx[K]) Len() int { return PNCounterMap[K]{r: (*Tx)(m).peek()}.Len() }

// All yields the keys and their counters as they are when the walk begins.
func (m *PNCounterMapTx[K]) All() iter.Seq2[K, int64] {
	return PNCounterMap[K]{r: (*Tx)(m).Reader()}.All()
}
