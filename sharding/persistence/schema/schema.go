package schema

import (
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/config"
)

// Schema lists the types of T that are stored. It is made by CBOR and copied freely. The zero value
// lists none.
type Schema[T any] struct {
	byName map[string]*Kind[T]
	byType map[reflect.Type]*Kind[T]
	err    error
}

// Stored is the stored form of a value.
type Stored struct {
	Name    string // of its type
	Version uint32 // of the type's form, from 1
	Body    []byte
}

// CBOR makes a schema whose values are stored as CBOR. Struct tags are those of fxamacker/cbor.
// Faults are reported by Validate.
func CBOR[T any](kinds ...Kind[T]) Schema[T] {
	s := Schema[T]{byName: map[string]*Kind[T]{}, byType: map[reflect.Type]*Kind[T]{}}
	var f config.Faults
	f.Add(len(kinds) == 0, "", "no type: list every type that is stored")
	for i := range kinds {
		k := &kinds[i]
		var own config.Faults
		k.check(&own)
		own.Add(s.byName[k.name] != nil, "name", "%q stands for two types", k.name)
		own.Add(k.typ != nil && s.byType[k.typ] != nil, "example", "%v has two names", k.typ)
		s.byName[k.name], s.byType[k.typ] = k, k
		f.Of(fmt.Sprintf("type %q", k.name), own.Wrap(ErrInvalid))
	}
	s.err = f.Wrap(ErrInvalid)
	return s
}

// Validate reports every fault together.
func (s Schema[T]) Validate() error {
	if s.byName == nil {
		return fmt.Errorf("%w: no type: make it by CBOR", ErrInvalid)
	}
	return s.err
}

// IsZero reports whether the schema is the zero value.
func (s Schema[T]) IsZero() bool { return s.byName == nil }

// Encode makes the stored form of a value, in the present version of its type.
//
// Errors: ErrUnlisted, ErrEncoding.
func (s Schema[T]) Encode(v T) (Stored, error) {
	k := s.byType[reflect.TypeOf(v)]
	if k == nil {
		return Stored{}, fmt.Errorf("%w: %T", ErrUnlisted, v)
	}
	body, err := encode(v)
	if err != nil {
		return Stored{}, fmt.Errorf("%w: %q: %w", ErrEncoding, k.name, err)
	}
	return Stored{Name: k.name, Version: k.version(), Body: body}, nil
}

// encode appends the encoding of a value, whose type may bring code of the user's for that.
func encode(v any) (body []byte, err error) {
	defer survive(&err)
	return cbor.Messages.Append(nil, v)
}

// Decode reads a stored value. It shares no memory with the stored form.
//
// Errors: ErrUnknown, ErrNewer, ErrDecoding, ErrUpcast.
func (s Schema[T]) Decode(x Stored) (T, error) {
	var none T
	k := s.byName[x.Name]
	if k == nil {
		return none, fmt.Errorf("%w: %q", ErrUnknown, x.Name)
	}
	v, err := k.decode(x.Version, x.Body)
	if err != nil {
		return none, fmt.Errorf("%q: %w", x.Name, err)
	}
	return v.(T), nil
}
