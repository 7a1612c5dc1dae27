package crdt

import "iter"

// ORSet is the view of a set in which a concurrent add wins over a remove: a remove takes away only
// the adds that it observed. One item without payload stands for an element, at kind ‖ element. See
// Bieniusa et al., An optimized conflict-free replicated set, 2012.
type ORSet[E comparable] struct{ r Reader }

var _ Value[ORSet[string], *ORSetTx[string]] = ORSet[string]{}

// Kind returns KindORSet.
func (ORSet[E]) Kind() Kind { return KindORSet }

// View reads a set. A key that holds another type is ErrTypeClash.
func (ORSet[E]) View(r Reader) (ORSet[E], error) {
	if err := CheckElements[E](r, KindORSet); err != nil {
		return ORSet[E]{}, err
	}
	return ORSet[E]{r: r}, nil
}

// Mutator returns the set's mutator.
func (ORSet[E]) Mutator(tx *Tx) *ORSetTx[E] { return (*ORSetTx[E])(tx) }

// Contains reports whether e is in the set.
func (s ORSet[E]) Contains(e E) bool {
	path, err := ElementPath(KindORSet, e)
	return err == nil && s.r.Has(path)
}

// Len counts the elements; in constant time when the set is a whole key.
func (s ORSet[E]) Len() int { return s.r.Paths() }

// All yields the elements in the order of their encoded form: strings by bytes, integers by value.
// What cannot be decoded is left out.
func (s ORSet[E]) All() iter.Seq[E] { return elementsOf[E](s.r, KindORSet) }

// ORSetTx changes a set within an Update. Its reads see its writes.
type ORSetTx[E comparable] Tx

// Add puts e into the set, in place of the observed adds of it. Adding an element that is there
// makes a new event too: it wins over a concurrent remove of the old one. A caller that adds the
// same elements again and again should ask Contains first.
func (s *ORSetTx[E]) Add(e E) error {
	path, err := ElementPath(KindORSet, e)
	if err != nil {
		return err
	}
	return (*Tx)(s).Replace(path, "")
}

// Remove takes e out of the set; it does nothing when e is not there. Adds that this replica has
// not seen yet survive.
func (s *ORSetTx[E]) Remove(e E) error {
	path, err := ElementPath(KindORSet, e)
	if err != nil {
		return err
	}
	_, err = (*Tx)(s).Remove(path)
	return err
}

// Clear takes out every element that is there.
func (s *ORSetTx[E]) Clear() error {
	_, err := (*Tx)(s).RemoveAll("")
	return err
}

// Contains reports whether e is in the set.
func (s *ORSetTx[E]) Contains(e E) bool { return ORSet[E]{r: (*Tx)(s).peek()}.Contains(e) }

// Len counts the elements.
func (s *ORSetTx[E]) Len() int { return (*Tx)(s).peek().Paths() }

// All yields the elements as they are when the walk begins.
func (s *ORSetTx[E]) All() iter.Seq[E] { return ORSet[E]{r: (*Tx)(s).Reader()}.All() }
