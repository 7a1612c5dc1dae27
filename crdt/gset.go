package crdt

import "iter"

// GSet is the view of a set that only grows. One item without payload stands for an element, at
// kind ‖ element.
type GSet[E comparable] struct{ r Reader }

var _ Value[GSet[string], *GSetTx[string]] = GSet[string]{}

// Kind returns KindGSet.
func (GSet[E]) Kind() Kind { return KindGSet }

// View reads a set. A key that holds another type is ErrTypeClash.
func (GSet[E]) View(r Reader) (GSet[E], error) {
	if err := CheckElements[E](r, KindGSet); err != nil {
		return GSet[E]{}, err
	}
	return GSet[E]{r: r}, nil
}

// Mutator returns the set's mutator.
func (GSet[E]) Mutator(tx *Tx) *GSetTx[E] { return (*GSetTx[E])(tx) }

// Contains reports whether e is in the set.
func (s GSet[E]) Contains(e E) bool {
	path, err := ElementPath(KindGSet, e)
	return err == nil && s.r.Has(path)
}

// Len counts the elements; in constant time when the set is a whole key.
func (s GSet[E]) Len() int { return s.r.Paths() }

// All yields the elements in the order of their encoded form: strings by bytes, integers by value.
// What cannot be decoded is left out.
func (s GSet[E]) All() iter.Seq[E] { return elementsOf[E](s.r, KindGSet) }

// GSetTx changes a set within an Update. Its reads see its writes.
type GSetTx[E comparable] Tx

// Add puts e into the set. It makes a new event also when e is there, which wins over a concurrent
// removal of the whole set. A caller that adds the same elements again and again should ask
// Contains first.
func (s *GSetTx[E]) Add(e E) error {
	path, err := ElementPath(KindGSet, e)
	if err != nil {
		return err
	}
	return (*Tx)(s).Replace(path, "")
}

// Contains reports whether e is in the set.
func (s *GSetTx[E]) Contains(e E) bool { return GSet[E]{r: (*Tx)(s).peek()}.Contains(e) }

// Len counts the elements.
func (s *GSetTx[E]) Len() int { return (*Tx)(s).peek().Paths() }

// All yields the elements as they are when the walk begins.
func (s *GSetTx[E]) All() iter.Seq[E] { return GSet[E]{r: (*Tx)(s).Reader()}.All() }
