package cbor

import (
	"encoding"
	"reflect"
)

// Unstored returns the type of a struct within v that holds something of which CBOR keeps nothing,
// nil if there is none: no field of the type is exported, and it has no codec. It would read back
// as zero. It visits what CBOR visits.
func Unstored(v reflect.Value) reflect.Type {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || encodesItself(v.Type()) {
			return nil
		}
		return Unstored(v.Elem())
	case reflect.Slice, reflect.Array:
		return unstoredElement(v)
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if t := Unstored(it.Key()); t != nil {
				return t
			}
			if t := Unstored(it.Value()); t != nil {
				return t
			}
		}
	case reflect.Struct:
		if encodesItself(v.Type()) || v.IsZero() {
			return nil
		}
		stored, t := unstoredField(v)
		if t == nil && stored == 0 {
			t = v.Type()
		}
		return t
	}
	return nil
}

func unstoredElement(v reflect.Value) reflect.Type {
	switch v.Type().Elem().Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
	default:
		return nil // a number, a string: there is nothing inside
	}
	for i := range v.Len() {
		if t := Unstored(v.Index(i)); t != nil {
			return t
		}
	}
	return nil
}

// unstoredField returns how many fields of a struct CBOR keeps, those of embedded structs among
// them, and what Unstored finds in them.
func unstoredField(v reflect.Value) (stored int, t reflect.Type) {
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		if f.Tag.Get("cbor") == "-" || f.Tag.Get("cbor") == "" && f.Tag.Get("json") == "-" {
			continue
		}
		if f.Anonymous && x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		switch {
		case f.Anonymous && x.Kind() == reflect.Struct && !encodesItself(x.Type()):
			n, t := unstoredField(x)
			if t != nil {
				return 0, t
			}
			stored += n
		case f.IsExported():
			if t := Unstored(x); t != nil {
				return 0, t
			}
			stored++
		}
	}
	return stored, nil
}

// encodesItself reports whether CBOR leaves the encoding of a type to its methods, or knows the
// type.
func encodesItself(t reflect.Type) bool {
	if t.PkgPath() == "math/big" && t.Name() == "Int" {
		return true
	}
	for _, p := range []reflect.Type{t, reflect.PointerTo(t)} {
		if p.Implements(reflect.TypeFor[Marshaler]()) ||
			p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) {
			return true
		}
	}
	return false
}
