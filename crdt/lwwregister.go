package crdt

import "fmt"

// LWWRegister is the view of one value of which the last writer wins. It is one item at the path
// that is the kind alone; payload: timestamp ‖ value.
type LWWRegister[V any] struct {
	value V
	ts    Timestamp
	set   bool
}

var _ Value[LWWRegister[string], *LWWRegisterTx[string]] = LWWRegister[string]{}

const lwwRegisterPath = string(rune(KindLWWRegister))

// Kind returns KindLWWRegister.
func (LWWRegister[V]) Kind() Kind { return KindLWWRegister }

// View reads a register. A key that holds another type, or a value that does not decode as V (see
// AppendValue), is ErrTypeClash.
func (LWWRegister[V]) View(r Reader) (l LWWRegister[V], err error) {
	if err := r.CheckKind(KindLWWRegister); err != nil {
		return l, err
	}
	if l.value, l.ts, l.set = readWinner[V](r, lwwRegisterPath, lastWins); !l.set && !r.Empty() {
		return LWWRegister[V]{}, fmt.Errorf("%w: key %q: value is no %T", ErrTypeClash, r.Key(), l.value)
	}
	return l, nil
}

// Mutator returns the register's mutator.
func (LWWRegister[V]) Mutator(tx *Tx) *LWWRegisterTx[V] { return (*LWWRegisterTx[V])(tx) }

// Get returns the value; ok is false when none is set.
func (l LWWRegister[V]) Get() (v V, ok bool) { return l.value, l.set }

// At returns the value and its timestamp; ok is false when none is set.
func (l LWWRegister[V]) At() (v V, ts Timestamp, ok bool) { return l.value, l.ts, l.set }

// LWWRegisterTx changes a register within an Update. Its reads see its writes.
type LWWRegisterTx[V any] Tx

// Put sets the value, with a timestamp above every observed one.
func (l *LWWRegisterTx[V]) Put(v V) error { return putLast((*Tx)(l), lwwRegisterPath, v) }

// PutAt sets the value with the caller's timestamp. It returns false, and changes nothing, when it
// loses to an observed write.
func (l *LWWRegisterTx[V]) PutAt(v V, ts Timestamp) (bool, error) {
	return putAt((*Tx)(l), lwwRegisterPath, v, ts, lastWins)
}

// Remove unsets the value. A write that this replica has not seen yet survives, whatever its
// timestamp.
func (l *LWWRegisterTx[V]) Remove() error {
	_, err := (*Tx)(l).Remove(lwwRegisterPath)
	return err
}

// Get returns the value; ok is false when none is set.
func (l *LWWRegisterTx[V]) Get() (v V, ok bool) {
	v, _, ok = l.At()
	return v, ok
}

// At returns the value and its timestamp; ok is false when none is set.
func (l *LWWRegisterTx[V]) At() (v V, ts Timestamp, ok bool) {
	return readWinner[V]((*Tx)(l).peek(), lwwRegisterPath, lastWins)
}
