package crdt

import "iter"

// NodeMap is the view of a map in which each process incarnation has its own value per key. The
// values of one that is removed from the view vanish with it (Store.SetLiving), at once and without
// any call. One item stands for the entry of one origin, at kind ‖ key; payload: timestamp ‖
// value. It is a whole key, and stands in no other map.
type NodeMap[K comparable, V any] struct{ r Reader }

var _ Value[NodeMap[string, int], *NodeMapTx[string, int]] = NodeMap[string, int]{}

// Kind returns KindNodeMap.
func (NodeMap[K, V]) Kind() Kind { return KindNodeMap }

// View reads a map. A key that holds another type is ErrTypeClash; a place in a map is ErrNested.
func (NodeMap[K, V]) View(r Reader) (NodeMap[K, V], error) {
	if r.prefix() != "" {
		return NodeMap[K, V]{}, nestedError(KindNodeMap, r.Key())
	}
	if err := CheckElements[K](r, KindNodeMap); err != nil {
		return NodeMap[K, V]{}, err
	}
	return NodeMap[K, V]{r: r}, nil
}

// Mutator returns the map's mutator.
func (NodeMap[K, V]) Mutator(tx *Tx) *NodeMapTx[K, V] { return (*NodeMapTx[K, V])(tx) }

// Get returns what the last writer among the living nodes wrote to k; ok is false when there is
// nothing, or when it is no V.
func (m NodeMap[K, V]) Get(k K) (v V, ok bool) {
	path, err := ElementPath(KindNodeMap, k)
	if err != nil {
		return v, false
	}
	return lastOf[V](m.r.At(path))
}

// lastOf returns the value of the last writer among siblings.
func lastOf[V any](siblings []*Item) (v V, ok bool) {
	var win timedWrite
	for _, it := range siblings {
		if w, good := decodeWrite(it); good && (!ok || w.beats(win, lastWins)) {
			win, ok = w, true
		}
	}
	if !ok {
		return v, false
	}
	v, err := DecodeValue[V](win.value)
	return v, err == nil
}

// Each yields the living nodes that have a value at k, by origin, with their values. What is no V
// is left out.
func (m NodeMap[K, V]) Each(k K) iter.Seq2[Origin, V] {
	return func(yield func(Origin, V) bool) {
		path, err := ElementPath(KindNodeMap, k)
		if err != nil {
			return
		}
		for run := range byOrigin(m.r.At(path)) {
			if v, ok := lastOf[V](run); ok && !yield(run[0].Dot.Origin, v) {
				return
			}
		}
	}
}

// Len counts the keys; in constant time unless something of a removed node has not been swept yet.
func (m NodeMap[K, V]) Len() int { return m.r.Paths() }

// All yields the keys in the order of their encoded form, each with what the last writer among the
// living nodes wrote. What cannot be decoded is left out.
func (m NodeMap[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		prev := ""
		for it := range m.r.Items(KindNodeMap.Path()) {
			if it.Path == prev {
				continue // of another node: lastOf has weighed it
			}
			prev = it.Path
			k, err := DecodeElement[K](m.r.Rel(it)[1:])
			if err != nil {
				continue
			}
			if v, ok := lastOf[V](m.r.At(m.r.Rel(it))); ok && !yield(k, v) {
				return
			}
		}
	}
}

// Of yields the entries of one node, in the order of All. It costs a walk over the map.
func (m NodeMap[K, V]) Of(o Origin) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		prev := ""
		for it := range m.r.Items(KindNodeMap.Path()) {
			if it.Dot.Origin != o || it.Path == prev {
				continue
			}
			prev = it.Path
			k, err := DecodeElement[K](m.r.Rel(it)[1:])
			if err != nil {
				continue
			}
			for run := range byOrigin(m.r.At(m.r.Rel(it))) {
				if v, ok := lastOf[V](run); ok && run[0].Dot.Origin == o && !yield(k, v) {
					return
				}
			}
		}
	}
}

// NodeMapTx changes the own part of a map within an Update: what other nodes have put is theirs.
// Its reads see its writes.
type NodeMapTx[K comparable, V any] Tx

// Put sets the own value of k, for as long as this node lives, with a timestamp above every
// observed one of k.
func (m *NodeMapTx[K, V]) Put(k K, v V) error {
	path, err := ElementPath(KindNodeMap, k)
	if err != nil {
		return err
	}
	payload, err := encodeWrite(v, nextStamp((*Tx)(m), path))
	if err != nil {
		return err
	}
	return (*Tx)(m).putOwn(KindNodeMap, path, payload)
}

// Remove takes out the own entry of k; it does nothing when there is none. What another node has
// put stays.
func (m *NodeMapTx[K, V]) Remove(k K) error {
	path, err := ElementPath(KindNodeMap, k)
	if err != nil {
		return err
	}
	return (*Tx)(m).Drop(path, (*Tx)(m).ownDots(path))
}

// Clear takes out everything that this node has put.
func (m *NodeMapTx[K, V]) Clear() error { return (*Tx)(m).dropOwn(KindNodeMap) }

// Get returns what the last writer among the living nodes wrote to k; ok is false when there is
// nothing, or when it is no V.
func (m *NodeMapTx[K, V]) Get(k K) (v V, ok bool) { return NodeMap[K, V]{r: (*Tx)(m).peek()}.Get(k) }

// Own returns what this node has put at k; ok is false when there is nothing, or when it is no V.
func (m *NodeMapTx[K, V]) Own(k K) (v V, ok bool) {
	path, err := ElementPath(KindNodeMap, k)
	if err != nil {
		return v, false
	}
	for _, it := range (*Tx)(m).live().at(path) {
		if it.Dot.Origin == (*Tx)(m).origin {
			return lastOf[V]([]*Item{it})
		}
	}
	return v, false
}

// Len counts the keys.
func (m *NodeMapTx[K, V]) Len() int { return (*Tx)(m).peek().Paths() }

// All yields the entries as they are when the walk begins.
func (m *NodeMapTx[K, V]) All() iter.Seq2[K, V] { return NodeMap[K, V]{r: (*Tx)(m).Reader()}.All() }
