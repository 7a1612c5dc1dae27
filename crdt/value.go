package crdt

import (
	"errors"
	"fmt"
)

// Kind names a data type; it is the first byte of every path of that type.
type Kind byte

// Kinds of this package.
const (
	KindGCounter     Kind = 1
	KindORSet        Kind = 2
	KindLWWRegister  Kind = 3
	KindLWWMap       Kind = 4
	KindFlag         Kind = 5
	KindEWFlag       Kind = 6
	KindPNCounter    Kind = 7
	KindGSet         Kind = 8
	KindFWWRegister  Kind = 9
	KindMVRegister   Kind = 10
	KindORMap        Kind = 11
	KindORMultiMap   Kind = 12
	KindPNCounterMap Kind = 13
	KindNodeSet      Kind = 16
	KindNodeMap      Kind = 17
	KindDeleted      Kind = 18 // the marker of DeleteForever
)

// KindUser is the first of the kinds that users' own types take, each its own.
const KindUser Kind = 0x80

var kindNames = [...]string{
	KindGCounter: "GCounter", KindORSet: "ORSet", KindLWWRegister: "LWWRegister", KindLWWMap: "LWWMap",
	KindFlag: "Flag", KindEWFlag: "EWFlag",
	KindPNCounter: "PNCounter", KindGSet: "GSet", KindFWWRegister: "FWWRegister",
	KindMVRegister: "MVRegister", KindORMap: "ORMap",
	KindORMultiMap: "ORMultiMap", KindPNCounterMap: "PNCounterMap", KindNodeSet: "NodeSet",
	KindNodeMap: "NodeMap", KindDeleted: "deleted",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%#02x)", byte(k))
}

// Path returns the path that is the kind alone, where types of one value keep it and where the
// paths of all others begin.
func (k Kind) Path() string { return string([]byte{byte(k)}) }

// kindOf returns the kind of a path, 0 for an empty one.
func kindOf(path string) Kind {
	if path == "" {
		return 0
	}
	return Kind(path[0])
}

// Value is what a data type offers: V is its immutable view, T its mutator. The zero value of V is
// the empty value and describes the type.
//
// Laws: View depends on the items of the Reader only, not on how they came; it returns an error
// that wraps ErrTypeClash for items of another type, and never panics: a panic is ErrPanic of the
// call. Every path that T writes begins with Kind. T removes only items that it observed.
//
// The mutators of this package are Tx under another type: the Tx itself serves, and an update makes no second object.
type Value[V, T any] interface {
	Kind() Kind
	View(Reader) (V, error)
	Mutator(*Tx) T
}

// ViewOf reads a key as a V. What a View of the user's panics with is ErrPanic.
func ViewOf[V Value[V, T], T any](r Reader) (v V, err error) {
	if r.Deleted() {
		return v, deletedError(r.Key())
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicError(r.Key(), fmt.Sprintf("%T.View", v), p)
		}
	}()
	return v.View(r)
}

// Look has fn read the state of a key. What fn panics with is ErrPanic.
func Look(r Reader, fn func(Reader) error) error { return run(r.Key(), "function that reads", fn, r) }

// run calls a user's function for a key, and turns its panic into an error.
func run[A any](key, what string, fn func(A) error, of A) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(key, what, p)
		}
	}()
	return fn(of)
}

// panicError is ErrPanic with what was called for a key, and what that panicked with.
func panicError(key, what string, p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%w: key %q: %s: %w", ErrPanic, key, what, err)
	}
	return fmt.Errorf("%w: key %q: %s: %v", ErrPanic, key, what, p)
}

// Mutate turns a typed update into one of items. It returns ErrTypeClash, before fn runs, when the
// key holds another type. A value that cannot be read because it has overflowed can be changed, or
// a PNCounter could not be counted back.
func Mutate[V Value[V, T], T any](fn func(T) error) func(*Tx) error {
	return func(tx *Tx) error {
		var v V
		v, err := v.View(tx.peek()) // what it panics with is that of the update function
		if unusable(err) {
			return err
		}
		return fn(v.Mutator(tx))
	}
}

// unusable reports whether what View answered forbids to change the value.
func unusable(err error) bool { return err != nil && !errors.Is(err, ErrOverflow) }

// asTypeClash says that what was read for a decoding is not of the type, nil for nil.
func asTypeClash(r Reader, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: key %q: %w", ErrTypeClash, r.Key(), err)
}
