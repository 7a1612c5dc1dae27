package schema

import (
	"encoding"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// hidden returns the path of a field of a type that CBOR leaves out because it is not exported; "":
// there is none. Types that encode themselves know what they leave out.
func hidden(t reflect.Type) string { return hiddenIn(t, map[reflect.Type]bool{}) }

func hiddenIn(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || encodesItself(t) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hiddenIn(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			switch {
			case f.Tag.Get("cbor") == "-" || f.Name == "_":
			case !f.IsExported() && !f.Anonymous:
				return f.Name
			default:
				if path := hiddenIn(f.Type, seen); path != "" {
					return f.Name + "." + path
				}
			}
		}
	}
	return ""
}

// encodesItself reports whether the encoder calls a method of the type.
func encodesItself(t reflect.Type) bool {
	for _, own := range []reflect.Type{
		reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[encoding.BinaryMarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
	} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}
