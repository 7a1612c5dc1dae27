package crdt

import "iter"

// ORMultiMap is the view of a map from keys to sets of elements. One item without payload stands
// for a binding, at kind ‖ segment of the key ‖ element, and each lives by itself: an add wins over
// a concurrent removal of the same binding, and no removal is lost to an add of another. A key is
// there while a binding of it lives.
type ORMultiMap[K, E comparable] struct{ r Reader }

var _ Value[ORMultiMap[string, int], *ORMultiMapTx[string, int]] = ORMultiMap[string, int]{}

// Kind returns KindORMultiMap.
func (ORMultiMap[K, E]) Kind() Kind { return KindORMultiMap }

// View reads a map. A key that holds another type, or whose first binding is none of a K and an E,
// is ErrTypeClash.
func (ORMultiMap[K, E]) View(r Reader) (ORMultiMap[K, E], error) {
	path, rest, err := checkKeys[K](r, KindORMultiMap)
	if err == nil && path != "" {
		_, err = DecodeElement[E](rest)
		err = asTypeClash(r, err)
	}
	if err != nil {
		return ORMultiMap[K, E]{}, err
	}
	return ORMultiMap[K, E]{r: r}, nil
}

// Mutator returns the map's mutator.
func (ORMultiMap[K, E]) Mutator(tx *Tx) *ORMultiMapTx[K, E] { return (*ORMultiMapTx[K, E])(tx) }

func bindingPath[K, E comparable](k K, e E) (string, error) {
	var buf [64]byte
	b, err := AppendSegment(append(buf[:0], byte(KindORMultiMap)), k)
	if err == nil {
		b, err = AppendElement(b, e)
	}
	return string(b), err
}

// Contains reports whether e is bound to k.
func (m ORMultiMap[K, E]) Contains(k K, e E) bool {
	path, err := bindingPath(k, e)
	return err == nil && m.r.Has(path)
}

// ContainsKey reports whether anything is bound to k.
func (m ORMultiMap[K, E]) ContainsKey(k K) bool {
	path, err := SegmentPath(KindORMultiMap, k)
	return err == nil && !m.r.Under(path).Empty()
}

// Get yields the elements that are bound to k, in the order of their encoded form. What cannot be
// decoded is left out.
func (m ORMultiMap[K, E]) Get(k K) iter.Seq[E] {
	return func(yield func(E) bool) {
		path, err := SegmentPath(KindORMultiMap, k)
		if err != nil {
			return
		}
		for _, e := range m.from(path) {
			if !yield(e) {
				return
			}
		}
	}
}

// Len counts the bindings; in constant time when the map is a whole key.
func (m ORMultiMap[K, E]) Len() int { return m.r.Paths() }

// KeyCount counts the keys, with a descent for each.
func (m ORMultiMap[K, E]) KeyCount() int { return countKeys[K](m.r, KindORMultiMap) }

// Keys yields the keys in the order of their encoded form: strings by bytes, integers by value.
// What cannot be decoded is left out.
func (m ORMultiMap[K, E]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range keysOf[K](m.r, KindORMultiMap) {
			if !yield(k) {
				return
			}
		}
	}
}

// All yields the bindings, by key and element. What cannot be decoded is left out.
func (m ORMultiMap[K, E]) All() iter.Seq2[K, E] { return m.from(KindORMultiMap.Path()) }

// from yields the bindings whose paths begin with prefix.
func (m ORMultiMap[K, E]) from(prefix string) iter.Seq2[K, E] {
	return func(yield func(K, E) bool) {
		prev := ""
		for it := range m.r.Items(prefix) {
			if it.Path == prev {
				continue // a sibling: added concurrently
			}
			prev = it.Path
			k, rest, err := CutSegment[K](m.r.Rel(it)[1:])
			if err != nil {
				continue
			}
			if e, err := DecodeElement[E](rest); err == nil && !yield(k, e) {
				return
			}
		}
	}
}

// ORMultiMapTx changes a map within an Update. Its reads see its writes.
type ORMultiMapTx[K, E comparable] Tx

// Add binds e to k. Adding a binding that is there makes a new event too: it wins over a concurrent
// removal.
func (m *ORMultiMapTx[K, E]) Add(k K, e E) error {
	path, err := bindingPath(k, e)
	if err != nil {
		return err
	}
	return (*Tx)(m).Replace(path, "")
}

// Remove takes the binding of e to k away; it does nothing when there is none. Adds that this
// replica has not seen yet survive.
func (m *ORMultiMapTx[K, E]) Remove(k K, e E) error {
	path, err := bindingPath(k, e)
	if err != nil {
		return err
	}
	_, err = (*Tx)(m).Remove(path)
	return err
}

// Replace binds fresh to k and takes the binding of old away.
func (m *ORMultiMapTx[K, E]) Replace(k K, old, fresh E) error {
	if old != fresh {
		if err := m.Remove(k, old); err != nil {
			return err
		}
	}
	return m.Add(k, fresh)
}

// Put binds these elements to k and takes all other bindings of k that are there away.
func (m *ORMultiMapTx[K, E]) Put(k K, es ...E) error {
	if err := m.RemoveKey(k); err != nil {
		return err
	}
	for _, e := range es {
		if err := m.Add(k, e); err != nil {
			return err
		}
	}
	return nil
}

// RemoveKey takes all bindings of k that are there away.
func (m *ORMultiMapTx[K, E]) RemoveKey(k K) error {
	path, err := SegmentPath(KindORMultiMap, k)
	if err != nil {
		return err
	}
	_, err = (*Tx)(m).RemoveAll(path)
	return err
}

// Clear takes every binding away that is there.
func (m *ORMultiMapTx[K, E]) Clear() error {
	_, err := (*Tx)(m).RemoveAll("")
	return err
}

// Contains reports whether e is bound to k.
func (m *ORMultiMapTx[K, E]) Contains(k K, e E) bool {
	return ORMultiMap[K, E]{r: (*Tx)(m).peek()}.Contains(k, e)
}

// Value returns the map as it is now, for all other reads.
func (m *ORMultiMapTx[K, E]) Value() ORMultiMap[K, E] { return ORMultiMap[K, E]{r: (*Tx)(m).Reader()} }
