package crdt

import "fmt"

// FWWRegister is the view of one value of which the first writer wins: a put where one is observed
// changes nothing, and of concurrent puts the one with the lowest timestamp stands, then that of
// the lowest origin, then the lowest bytes. It is one item at the path that is the kind alone;
// payload: timestamp ‖ value.
//
// Losers of a concurrent race stay beneath the winner, at most one of each origin, until a Remove
// takes them all away. Which put is first depends on the writers' clocks: a node whose clock is
// behind wins races, but never against a put that it has observed.
type FWWRegister[V any] struct {
	value V
	ts    Timestamp
	set   bool
}

var _ Value[FWWRegister[string], *FWWRegisterTx[string]] = FWWRegister[string]{}

// Kind returns KindFWWRegister.
func (FWWRegister[V]) Kind() Kind { return KindFWWRegister }

// View reads a register. A key that holds another type, or a value that does not decode as V (see
// AppendValue), is ErrTypeClash.
func (FWWRegister[V]) View(r Reader) (f FWWRegister[V], err error) {
	if err := r.CheckKind(KindFWWRegister); err != nil {
		return f, err
	}
	if f.value, f.ts, f.set = readWinner[V](r, KindFWWRegister.Path(), firstWins); !f.set && !r.Empty() {
		return FWWRegister[V]{}, fmt.Errorf("%w: key %q: value is no %T", ErrTypeClash, r.Key(), f.value)
	}
	return f, nil
}

// Mutator returns the register's mutator.
func (FWWRegister[V]) Mutator(tx *Tx) *FWWRegisterTx[V] { return (*FWWRegisterTx[V])(tx) }

// Get returns the value; ok is false when none is set.
func (f FWWRegister[V]) Get() (v V, ok bool) { return f.value, f.set }

// At returns the value and its timestamp; ok is false when none is set.
func (f FWWRegister[V]) At() (v V, ts Timestamp, ok bool) { return f.value, f.ts, f.set }

// FWWRegisterTx changes a register within an Update. Its reads see its writes.
type FWWRegisterTx[V any] Tx

// Put sets the value if none is observed, at the wall time. It returns false, and changes nothing,
// when there is one.
func (f *FWWRegisterTx[V]) Put(v V) (bool, error) {
	if _, taken := winner((*Tx)(f).peek(), KindFWWRegister.Path(), firstWins); taken {
		return false, (*Tx)(f).Err()
	}
	return true, putWrite((*Tx)(f), KindFWWRegister.Path(), v, Timestamp{}.Next((*Tx)(f).wall))
}

// PutAt sets the value with the caller's timestamp. It returns false, and changes nothing, unless
// it is before every observed write.
func (f *FWWRegisterTx[V]) PutAt(v V, ts Timestamp) (bool, error) {
	return putAt((*Tx)(f), KindFWWRegister.Path(), v, ts, firstWins)
}

// Remove unsets the value, so that a put can win again. A write that this replica has not seen yet
// survives, whatever its timestamp.
func (f *FWWRegisterTx[V]) Remove() error {
	_, err := (*Tx)(f).Remove(KindFWWRegister.Path())
	return err
}

// Get returns the value; ok is false when none is set.
func (f *FWWRegisterTx[V]) Get() (v V, ok bool) {
	v, _, ok = f.At()
	return v, ok
}

// At returns the value and its timestamp; ok is false when none is set.
func (f *FWWRegisterTx[V]) At() (v V, ts Timestamp, ok bool) {
	return readWinner[V]((*Tx)(f).peek(), KindFWWRegister.Path(), firstWins)
}
