package crdt

import (
	"fmt"
	"iter"
)

// NodeSet is the view of a set whose elements belong to the process incarnation that added them:
// they vanish when it is removed from the view (Store.SetLiving), at once and without any call. An
// element that several have added is there as long as one of them lives. One item without
// payload stands for an element of one origin, at kind ‖ element. It is a whole key, and stands in
// no map.
type NodeSet[E comparable] struct{ r Reader }

var _ Value[NodeSet[string], *NodeSetTx[string]] = NodeSet[string]{}

// Kind returns KindNodeSet.
func (NodeSet[E]) Kind() Kind { return KindNodeSet }

// View reads a set. A key that holds another type is ErrTypeClash; a place in a map is ErrNested.
func (NodeSet[E]) View(r Reader) (NodeSet[E], error) {
	if r.prefix() != "" {
		return NodeSet[E]{}, nestedError(KindNodeSet, r.Key())
	}
	if err := CheckElements[E](r, KindNodeSet); err != nil {
		return NodeSet[E]{}, err
	}
	return NodeSet[E]{r: r}, nil
}

// owned reports whether the items of a kind belong to their origins.
func (k Kind) owned() bool { return k == KindNodeSet || k == KindNodeMap }

func nestedError(k Kind, key string) error { return fmt.Errorf("%w: key %q: %v", ErrNested, key, k) }

// Mutator returns the set's mutator.
func (NodeSet[E]) Mutator(tx *Tx) *NodeSetTx[E] { return (*NodeSetTx[E])(tx) }

// Contains reports whether a living node has e in the set.
func (s NodeSet[E]) Contains(e E) bool {
	path, err := ElementPath(KindNodeSet, e)
	return err == nil && s.r.Has(path)
}

// Owners yields the living nodes that have e in the set, by origin.
func (s NodeSet[E]) Owners(e E) iter.Seq[Origin] {
	return func(yield func(Origin) bool) {
		path, err := ElementPath(KindNodeSet, e)
		if err != nil {
			return
		}
		for run := range byOrigin(s.r.At(path)) {
			if !yield(run[0].Dot.Origin) {
				return
			}
		}
	}
}

// byOrigin yields siblings in runs of one origin. An origin can have two: a put, and the one after
// its removal, which has not come yet.
func byOrigin(siblings []*Item) iter.Seq[[]*Item] {
	return func(yield func([]*Item) bool) {
		for len(siblings) > 0 {
			n := 1
			for n < len(siblings) && siblings[n].Dot.Origin == siblings[0].Dot.Origin {
				n++
			}
			if !yield(siblings[:n:n]) {
				return
			}
			siblings = siblings[n:]
		}
	}
}

// Len counts the elements; in constant time unless something of a removed node has not been swept
// yet.
func (s NodeSet[E]) Len() int { return s.r.Paths() }

// All yields the elements, each once, in the order of their encoded form. What cannot be decoded is
// left out.
func (s NodeSet[E]) All() iter.Seq[E] { return elementsOf[E](s.r, KindNodeSet) }

// Of yields the elements of one node, in the order of All. It costs a walk over the set.
func (s NodeSet[E]) Of(o Origin) iter.Seq[E] {
	return func(yield func(E) bool) {
		prev := ""
		for it := range s.r.Items(KindNodeSet.Path()) {
			if it.Dot.Origin != o || it.Path == prev {
				continue
			}
			prev = it.Path
			if e, err := DecodeElement[E](s.r.Rel(it)[1:]); err == nil && !yield(e) {
				return
			}
		}
	}
}

// NodeSetTx changes the own part of a set within an Update: what other nodes have added is theirs.
// Its reads see its writes.
type NodeSetTx[E comparable] Tx

// Add puts e into the set for as long as this node lives.
func (s *NodeSetTx[E]) Add(e E) error {
	path, err := ElementPath(KindNodeSet, e)
	if err != nil {
		return err
	}
	return (*Tx)(s).putOwn(KindNodeSet, path, "")
}

// Remove takes out the own e; it does nothing when this node has not added it. The e of another
// node stays.
func (s *NodeSetTx[E]) Remove(e E) error {
	path, err := ElementPath(KindNodeSet, e)
	if err != nil {
		return err
	}
	return (*Tx)(s).Drop(path, (*Tx)(s).ownDots(path))
}

// Clear takes out everything that this node has added.
func (s *NodeSetTx[E]) Clear() error { return (*Tx)(s).dropOwn(KindNodeSet) }

// Contains reports whether a living node has e in the set.
func (s *NodeSetTx[E]) Contains(e E) bool { return NodeSet[E]{r: (*Tx)(s).peek()}.Contains(e) }

// Owns reports whether this node has e in the set.
func (s *NodeSetTx[E]) Owns(e E) bool {
	path, err := ElementPath(KindNodeSet, e)
	return err == nil && len((*Tx)(s).ownDots(path)) > 0
}

// Len counts the elements.
func (s *NodeSetTx[E]) Len() int { return (*Tx)(s).peek().Paths() }

// All yields the elements as they are when the walk begins.
func (s *NodeSetTx[E]) All() iter.Seq[E] { return NodeSet[E]{r: (*Tx)(s).Reader()}.All() }

// ownDots returns the dots of what the own origin has at path.
func (t *Tx) ownDots(path string) (own []Dot) {
	for _, it := range t.live().at(t.prefix + path) {
		if it.Dot.Origin == t.origin {
			own = append(own, it.Dot)
		}
	}
	return own
}

// putOwn puts a payload at path in place of the own one.
func (t *Tx) putOwn(k Kind, path, payload string) error {
	if t.prefix != "" {
		return nestedError(k, t.key)
	}
	return t.Put(path, payload, t.ownDots(path))
}

// dropOwn drops all that the own origin has put.
func (t *Tx) dropOwn(k Kind) error {
	var own []Dot
	for it := range t.live().scan(t.prefix + string(rune(k))) {
		if it.Dot.Origin == t.origin {
			own = append(own, it.Dot)
		}
	}
	return t.Drop(string(rune(k)), own)
}
