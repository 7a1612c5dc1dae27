package crdt

import "iter"

// LWWMap is the view of a map in which the last writer of each key wins and a remove takes away
// only the writes that it observed, whatever their timestamps. One item stands for an entry, at
// kind ‖ key; payload: timestamp ‖ value.
type LWWMap[K comparable, V any] struct{ r Reader }

var _ Value[LWWMap[string, int], *LWWMapTx[string, int]] = LWWMap[string, int]{}

// Kind returns KindLWWMap.
func (LWWMap[K, V]) Kind() Kind { return KindLWWMap }

// View reads a map. A key that holds another type is ErrTypeClash.
func (LWWMap[K, V]) View(r Reader) (LWWMap[K, V], error) {
	if err := CheckElements[K](r, KindLWWMap); err != nil {
		return LWWMap[K, V]{}, err
	}
	return LWWMap[K, V]{r: r}, nil
}

// Mutator returns the map's mutator.
func (LWWMap[K, V]) Mutator(tx *Tx) *LWWMapTx[K, V] { return (*LWWMapTx[K, V])(tx) }

// Get returns the value of k; ok is false when there is none, or when it is no V.
func (m LWWMap[K, V]) Get(k K) (v V, ok bool) {
	v, _, ok = m.At(k)
	return v, ok
}

// At returns the value of k and its timestamp; ok is false when there is none, or when it is no V.
func (m LWWMap[K, V]) At(k K) (v V, ts Timestamp, ok bool) {
	path, err := ElementPath(KindLWWMap, k)
	if err != nil {
		return v, ts, false
	}
	return readWinner[V](m.r, path, lastWins)
}

// Len counts the entries; in constant time when the map is a whole key.
func (m LWWMap[K, V]) Len() int { return m.r.Paths() }

// All yields the entries in the order of their encoded keys: strings by bytes, integers by value.
// What cannot be decoded is left out.
func (m LWWMap[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		prev := ""
		for it := range m.r.Items(KindLWWMap.Path()) {
			if it.Path == prev {
				continue // a sibling: readWinner has weighed it
			}
			prev = it.Path
			k, err := DecodeElement[K](m.r.Rel(it)[1:])
			if err != nil {
				continue
			}
			if v, _, ok := readWinner[V](m.r, m.r.Rel(it), lastWins); ok && !yield(k, v) {
				return
			}
		}
	}
}

// LWWMapTx changes a map within an Update. Its reads see its writes.
type LWWMapTx[K comparable, V any] Tx

// Put sets the value of k, with a timestamp above every observed one of k.
func (m *LWWMapTx[K, V]) Put(k K, v V) error {
	path, err := ElementPath(KindLWWMap, k)
	if err != nil {
		return err
	}
	return putLast((*Tx)(m), path, v)
}

// PutAt sets the value of k with the caller's timestamp. It returns false, and changes nothing,
// when it loses to an observed write of k.
func (m *LWWMapTx[K, V]) PutAt(k K, v V, ts Timestamp) (bool, error) {
	path, err := ElementPath(KindLWWMap, k)
	if err != nil {
		return false, err
	}
	return putAt((*Tx)(m), path, v, ts, lastWins)
}

// Remove takes the entry of k out. A write that this replica has not seen yet survives, whatever
// its timestamp.
func (m *LWWMapTx[K, V]) Remove(k K) error {
	path, err := ElementPath(KindLWWMap, k)
	if err != nil {
		return err
	}
	_, err = (*Tx)(m).Remove(path)
	return err
}

// Clear takes out every entry that is there.
func (m *LWWMapTx[K, V]) Clear() error {
	_, err := (*Tx)(m).RemoveAll("")
	return err
}

// Get returns the value of k; ok is false when there is none, or when it is no V.
func (m *LWWMapTx[K, V]) Get(k K) (v V, ok bool) { return LWWMap[K, V]{r: (*Tx)(m).peek()}.Get(k) }

// At returns the value of k and its timestamp; ok is false when there is none, or when it is no V.
func (m *LWWMapTx[K, V]) At(k K) (v V, ts Timestamp, ok bool) {
	return LWWMap[K, V]{r: (*Tx)(m).peek()}.At(k)
}

// Len counts the entries.
func (m *LWWMapTx[K, V]) Len() int { return (*Tx)(m).peek().Paths() }

// All yields the entries as they are when the walk begins.
func (m *LWWMapTx[K, V]) All() iter.Seq2[K, V] { return LWWMap[K, V]{r: (*Tx)(m).Reader()}.All() }
