package crdt

import (
	"iter"
	"slices"
)

// MVRegister is the view of a register that keeps all values that were put concurrently, until a
// put that observed them takes their place. A value is one item at the path that is the kind alone,
// at most one of each origin.
type MVRegister[V any] struct{ payloads []string } // those that differ, sorted

var _ Value[MVRegister[string], *MVRegisterTx[string]] = MVRegister[string]{}

// Kind returns KindMVRegister.
func (MVRegister[V]) Kind() Kind { return KindMVRegister }

// View reads a register. A key that holds another type, or a value that does not decode as V (see
// AppendValue), is ErrTypeClash.
func (MVRegister[V]) View(r Reader) (m MVRegister[V], err error) {
	if err := r.CheckKind(KindMVRegister); err != nil {
		return m, err
	}
	m = readValues[V](r)
	for _, p := range m.payloads {
		if _, err := DecodeValue[V](p); err != nil {
			return MVRegister[V]{}, asTypeClash(r, err)
		}
	}
	return m, nil
}

func readValues[V any](r Reader) (m MVRegister[V]) {
	for _, it := range r.At(KindMVRegister.Path()) {
		m.payloads = append(m.payloads, it.Payload)
	}
	slices.Sort(m.payloads)
	m.payloads = slices.Compact(m.payloads)
	return m
}

// Mutator returns the register's mutator.
func (MVRegister[V]) Mutator(tx *Tx) *MVRegisterTx[V] { return (*MVRegisterTx[V])(tx) }

// Get returns the value if all agree on it; ok is false when none is set, or when there are
// several: see Len and All.
func (m MVRegister[V]) Get() (v V, ok bool) {
	if len(m.payloads) != 1 {
		return v, false
	}
	v, err := DecodeValue[V](m.payloads[0])
	return v, err == nil
}

// Len counts the values that differ: 0 when none is set, above 1 while there is a conflict.
func (m MVRegister[V]) Len() int { return len(m.payloads) }

// All yields the values that differ, in the order of their encoded form, which is the same on all
// replicas.
func (m MVRegister[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, p := range m.payloads {
			if v, err := DecodeValue[V](p); err == nil && !yield(v) {
				return
			}
		}
	}
}

// MVRegisterTx changes a register within an Update. Its reads see its writes.
type MVRegisterTx[V any] Tx

// Put sets the value in the place of all observed ones.
func (m *MVRegisterTx[V]) Put(v V) error {
	payload, err := AppendValue(nil, v)
	if err != nil {
		return err
	}
	return (*Tx)(m).Replace(KindMVRegister.Path(), string(payload))
}

// Remove unsets the register. Values that this replica has not seen yet survive.
func (m *MVRegisterTx[V]) Remove() error {
	_, err := (*Tx)(m).Remove(KindMVRegister.Path())
	return err
}

// Value returns what the register holds now.
func (m *MVRegisterTx[V]) Value() MVRegister[V] { return readValues[V]((*Tx)(m).peek()) }
