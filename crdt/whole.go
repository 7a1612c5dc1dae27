package crdt

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// State is a user's own replicated type that is kept as a whole.
//
// Laws: Merge is commutative, associative and idempotent, and what it returns contains both sides: merging never
// loses anything. It modifies neither side, never panics, and depends on nothing else. If it panics all the same, the
// read or the Put is ErrPanic. S survives AppendValue and DecodeValue, which encode as CBOR unless S has a
// MarshalCBOR and UnmarshalCBOR of its own, and equal values encode to equal bytes. proptest checks such laws.
//
// A later version of S may add fields, whose zero Merge must take for nothing. A program that does not know them
// reads the rest, and its Put is refused while they are there; an S with an UnmarshalCBOR of its own must keep or
// refuse what it does not know. A change of another sort needs a Kind of its own.
type State[S any] interface {
	// Kind returns a kind of the type's own, KindUser or above, for the zero S too.
	Kind() Kind
	// Merge returns the join of both.
	Merge(S) S
}

// Whole is the view of a user's own type S that is kept as a whole: one item at the path that is
// the kind alone, with all of S as payload, at most PayloadMax bytes. Concurrent writes stay beside
// each other, are merged on read, and collapse into one on the next write. A write ships and stores
// all of S: what grows, and is changed piece by piece, is better a type of items, see Value.
type Whole[S State[S]] struct {
	state S
	set   bool
}

// Kind returns the kind of the zero S.
func (Whole[S]) Kind() Kind {
	var s S
	return s.Kind()
}

// View reads and merges the values. A key that holds another type, or one value that does not decode as S, is
// ErrTypeClash: to leave that one out would lose it at the next write. So is a kind below KindUser. A Merge that
// panics is ErrPanic. Fields that S does not have are left out, see State.
func (Whole[S]) View(r Reader) (Whole[S], error) { return readWhole(r, DecodeValue[S]) }

// readWhole is View by a given decoder.
func readWhole[S State[S]](r Reader, decode func(string) (S, error)) (w Whole[S], err error) {
	kind := w.Kind()
	if kind < KindUser {
		return Whole[S]{}, fmt.Errorf("%w: %T has the kind %v, users' own begin at %#x",
			ErrTypeClash, w.state, kind, byte(KindUser))
	}
	if err := r.CheckKind(kind); err != nil {
		return Whole[S]{}, err
	}
	for _, it := range r.At(kind.Path()) {
		s, err := decode(it.Payload)
		if err != nil {
			return Whole[S]{}, asTypeClash(r, err)
		}
		if w.set {
			if s, err = merged(r.Key(), w.state, s); err != nil {
				return Whole[S]{}, err
			}
		}
		w.state, w.set = s, true
	}
	if !w.set && !r.Empty() {
		return Whole[S]{}, fmt.Errorf("%w: key %q: kind %v is no whole value here", ErrTypeClash, r.Key(), kind)
	}
	return w, nil
}

// merged joins two states of a key. Merge is the user's, and one of the states may be a peer's:
// what it panics with is an error, or one write would end every process that reads the key.
func merged[S State[S]](key string, a, b S) (s S, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(key, fmt.Sprintf("%T.Merge", s), p)
		}
	}()
	return a.Merge(b), nil
}

// Mutator returns the value's mutator.
func (Whole[S]) Mutator(tx *Tx) *WholeTx[S] { return (*WholeTx[S])(tx) }

// Get returns the value; ok is false, and s the zero S, when nothing is written. All copies of the
// view share what s points to: read it only.
func (w Whole[S]) Get() (s S, ok bool) { return w.state, w.set }

// WholeTx changes a value within an Update. Its reads see its writes.
type WholeTx[S State[S]] Tx

// Get returns the value, decoded anew and the caller's own; the zero S when nothing is written.
func (w *WholeTx[S]) Get() (S, error) {
	v, err := Whole[S]{}.View((*Tx)(w).peek())
	return v.state, err
}

// Put writes the merge of s and of all that is observed, in its place: a caller that began from an
// older value, or from none, loses nothing. When what is observed has a field that S does not have,
// which the merge would drop, Put is ErrTypeClash.
func (w *WholeTx[S]) Put(s S) error {
	old, err := readWhole((*Tx)(w).peek(), decodeExactly[S])
	if err != nil {
		return err
	}
	if old.set {
		if s, err = merged((*Tx)(w).key, old.state, s); err != nil {
			return err
		}
	}
	payload, err := AppendValue(nil, s)
	if err != nil {
		return err
	}
	return (*Tx)(w).Replace(old.Kind().Path(), string(payload))
}

// Remove takes the value away. Writes that this replica has not seen yet survive, each as a whole.
func (w *WholeTx[S]) Remove() error {
	_, err := (*Tx)(w).Remove(Whole[S]{}.Kind().Path())
	return err
}

// decodeExactly is DecodeValue that refuses fields that S does not have.
func decodeExactly[S any](payload string) (S, error) {
	s, err := DecodeValue[S](payload)
	if err != nil {
		return s, err
	}
	if err := decodeByUser(cbor.Values.DecodeExactly, payload, new(S)); errors.Is(err, cbor.ErrUnknownField) {
		return s, fmt.Errorf("%T lacks a field that a newer program has written here, and to put it would drop that "+
			"field: use the newer type", s)
	}
	return s, nil
}
