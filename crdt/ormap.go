package crdt

import (
	"fmt"
	"iter"
)

// ORMap is the view of a map whose values are of any type V with the mutator T, maps too. The value
// of a key is what lives below kind ‖ segment ‖ '/'; one item without payload at kind ‖ segment,
// which every update of the key puts anew, says that the key is there even if its value is empty. A
// key is there while anything lives at or below its path.
//
// Remove takes away what it observed of a key, all the way down. Of a concurrent update stays what
// that update has put, and nothing older: the elements that it added to a set, the value of a
// register, the keys that it updated in a map within the map. If it put nothing, the key stays with
// an empty value. Only counters keep more, see GCounter: the whole count of the origin that
// counted.
type ORMap[K comparable, V Value[V, T], T any] struct{ r Reader }

var _ Value[ORMap[string, GCounter, *GCounterTx], *ORMapTx[string, GCounter, *GCounterTx]] = ORMap[string,
	GCounter, *GCounterTx]{}

// valueMark follows the segment of a key where its value begins.
const valueMark = "/"

// Kind returns KindORMap.
func (ORMap[K, V, T]) Kind() Kind { return KindORMap }

// View reads a map. A key that holds another type, or a map whose first key is no K or its value no
// V, is ErrTypeClash.
func (ORMap[K, V, T]) View(r Reader) (m ORMap[K, V, T], err error) {
	path, rest, err := checkKeys[K](r, KindORMap)
	if err != nil {
		return m, err
	}
	if rest != "" && rest[:1] != valueMark {
		return m, fmt.Errorf("%w: key %q: %q is below no key of a map", ErrTypeClash, r.Key(), rest)
	}
	m.r = r
	if path != "" {
		if _, err := m.read(path); unusable(err) {
			return ORMap[K, V, T]{}, err
		}
	}
	return m, nil
}

func (m ORMap[K, V, T]) read(path string) (V, error) { return ViewOf[V](m.r.Under(path + valueMark)) }

// Mutator returns the map's mutator.
func (ORMap[K, V, T]) Mutator(tx *Tx) *ORMapTx[K, V, T] { return (*ORMapTx[K, V, T])(tx) }

// Get returns the value of k; ok is false when there is none, or when it cannot be read: see Err.
func (m ORMap[K, V, T]) Get(k K) (v V, ok bool) {
	path, err := SegmentPath(KindORMap, k)
	if err != nil || m.r.Under(path).Empty() {
		return v, false
	}
	v, err = m.read(path)
	return v, err == nil
}

// Err returns why the value of k cannot be read: ErrTypeClash, or what else V says. It is nil when
// there is none.
func (m ORMap[K, V, T]) Err(k K) error {
	path, err := SegmentPath(KindORMap, k)
	if err == nil {
		_, err = m.read(path)
	}
	return err
}

// Contains reports whether k is in the map.
func (m ORMap[K, V, T]) Contains(k K) bool {
	path, err := SegmentPath(KindORMap, k)
	return err == nil && !m.r.Under(path).Empty()
}

// Len counts the keys, with a descent for each.
func (m ORMap[K, V, T]) Len() int { return countKeys[K](m.r, KindORMap) }

// Keys yields the keys in the order of their encoded form: strings by bytes, integers by value.
// What cannot be decoded is left out.
func (m ORMap[K, V, T]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range keysOf[K](m.r, KindORMap) {
			if !yield(k) {
				return
			}
		}
	}
}

// All yields the keys and their values, in the order of Keys. What cannot be read is left out.
func (m ORMap[K, V, T]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, path := range keysOf[K](m.r, KindORMap) {
			if v, err := m.read(path); err == nil && !yield(k, v) {
				return
			}
		}
	}
}

// ORMapTx changes a map within an Update. Its reads see its writes.
type ORMapTx[K comparable, V Value[V, T], T any] Tx

// Update changes the value of k, from the empty one when k is not there, and returns what fn
// returns. The key is put anew even if fn changes nothing, and so survives a concurrent Remove. A
// value of another type is ErrTypeClash, before fn runs; Remove mends it.
func (m *ORMapTx[K, V, T]) Update(k K, fn func(T) error) error {
	path, err := SegmentPath(KindORMap, k)
	if err != nil {
		return err
	}
	// Read before fn writes, which spares a transaction of one update the copy that a read between
	// writes costs.
	old := (*Tx)(m).dotsAt(path)
	if err := Mutate[V](fn)((*Tx)(m).Under(path + valueMark)); err != nil {
		return err
	}
	return (*Tx)(m).Put(path, "", old)
}

// Remove takes k out with all that is observed of its value. What this replica has not seen yet
// survives. In one Update with a later Update of k it makes the value anew.
func (m *ORMapTx[K, V, T]) Remove(k K) error {
	path, err := SegmentPath(KindORMap, k)
	if err != nil {
		return err
	}
	_, err = (*Tx)(m).RemoveAll(path)
	return err
}

// Clear takes out every key that is there.
func (m *ORMapTx[K, V, T]) Clear() error {
	_, err := (*Tx)(m).RemoveAll("")
	return err
}

// Get returns the value of k as it is now; ok is false when there is none, or when it cannot be
// read.
func (m *ORMapTx[K, V, T]) Get(k K) (V, bool) { return m.value().Get(k) }

// Contains reports whether k is in the map.
func (m *ORMapTx[K, V, T]) Contains(k K) bool { return ORMap[K, V, T]{r: (*Tx)(m).peek()}.Contains(k) }

// Len counts the keys.
func (m *ORMapTx[K, V, T]) Len() int { return ORMap[K, V, T]{r: (*Tx)(m).peek()}.Len() }

// Keys yields the keys as they are when the walk begins.
func (m *ORMapTx[K, V, T]) Keys() iter.Seq[K] { return m.value().Keys() }

// All yields the keys and their values as they are when the walk begins.
func (m *ORMapTx[K, V, T]) All() iter.Seq2[K, V] { return m.value().All() }

func (m *ORMapTx[K, V, T]) value() ORMap[K, V, T] { return ORMap[K, V, T]{r: (*Tx)(m).Reader()} }
