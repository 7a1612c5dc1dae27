package schema

import (
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Kind is one concrete type of a schema of T.
type Kind[T any] struct {
	name  string
	typ   reflect.Type // nil: the example was nil
	older []Upcast     // from version 1 on
}

// Type lists the concrete type of the example, whose value does not matter. name is what is stored:
// 1 to 255 bytes, and never changed. older are its up-casters, from version 1 on.
func Type[T any](name string, example T, older ...Upcast) Kind[T] {
	return Kind[T]{name: name, typ: reflect.TypeOf(example), older: older}
}

// version is that of the type's present form.
func (k *Kind[T]) version() uint32 { return uint32(len(k.older)) + 1 }

// check adds what is wrong.
func (k *Kind[T]) check(f *config.Faults) {
	f.Add(k.name == "" || len(k.name) > persistence.NameMax, "name", "has %d bytes, want 1 to %d",
		len(k.name), persistence.NameMax)
	f.Add(k.typ == nil, "example", "is nil and has no concrete type")
	if k.typ != nil {
		path := hidden(k.typ)
		f.Add(path != "", "example", "%v has the field %s, which is not exported and would be lost: export it, "+
			"or give it the tag cbor:\"-\"", k.typ, path)
	}
	for i, up := range k.older {
		next := k.typ
		if i+1 < len(k.older) {
			next = k.older[i+1].from
		}
		f.Add(up.fn == nil, "up-caster", "number %d is nil: make it by From", i+1)
		f.Add(up.fn != nil && next != nil && up.to != next, "up-caster",
			"number %d makes %v of version %d, want %v", i+1, up.to, i+1, next)
	}
}

// decode reads a value that was stored in a version, and has it go through the up-casters.
func (k *Kind[T]) decode(version uint32, body []byte) (any, error) {
	if version < 1 {
		return nil, fmt.Errorf("%w: it has no version", ErrDecoding)
	}
	if version > k.version() {
		return nil, fmt.Errorf("%w: version %d, and this program knows 1 to %d", ErrNewer, version, k.version())
	}
	ups := k.older[version-1:]
	from := k.typ
	if len(ups) > 0 {
		from = ups[0].from
	}
	v, err := decodeAs(from, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDecoding, err)
	}
	for i := 0; err == nil && i < len(ups); i++ {
		if v, err = ups[i].run(v); err != nil {
			err = fmt.Errorf("%w: from version %d: %w", ErrUpcast, int(version)+i, err)
		}
	}
	return v, err
}

// decodeAs reads a value of a type. The type may bring code of the user's for that.
func decodeAs(t reflect.Type, body []byte) (v any, err error) {
	defer survive(&err)
	into := t
	if t.Kind() == reflect.Pointer {
		into = t.Elem()
	}
	p := reflect.New(into)
	if err := cbor.Messages.Decode(body, p.Interface()); err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Pointer {
		return p.Interface(), nil
	}
	return p.Elem().Interface(), nil
}

// survive makes an error of a panic.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = failure.OfRecovered(p)
	}
}

// Upcast makes a value of one version of a type a value of the next.
type Upcast struct {
	from, to reflect.Type
	fn       func(any) (any, error)
}

// From makes an up-caster of a function. It must depend on nothing but its argument: the same value
// is read many times, and comes out the same.
func From[Old, New any](fn func(Old) (New, error)) Upcast {
	up := Upcast{from: reflect.TypeFor[Old](), to: reflect.TypeFor[New]()}
	if fn != nil {
		up.fn = func(v any) (any, error) { return fn(v.(Old)) }
	}
	return up
}

// run calls the function, which may panic.
func (u Upcast) run(v any) (out any, err error) {
	defer survive(&err)
	return u.fn(v)
}
