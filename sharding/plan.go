package sharding

import (
	"bytes"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/coterie-go/coterie/crdt/head"
	"github.com/fxamacker/cbor/v2"
)

// plan is how a struct of plain fields is encoded and decoded without reflection. It writes exactly
// the bytes that the CBOR library writes, and reads exactly those; whatever else arrives (another
// order, other keys, null) is left to the library, as are all types that have no plan.
type plan struct {
	head   byte // array or map, with the number of fields
	fields []planField
	word   unsafe.Pointer // the type word of an interface that holds the struct
	typ    reflect.Type
}

// planField is one field. Its key is the encoded map key, empty in an array.
type planField struct {
	key    []byte
	offset uintptr
	kind   reflect.Kind // Slice means []byte
	sub    *plan        // of a Struct
}

// planFieldsMax keeps the head in one byte.
const planFieldsMax = 23

var (
	byteSlice = reflect.TypeFor[[]byte]()
	special   = []reflect.Type{ // the library asks these how to encode
		reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[cbor.Unmarshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	}
)

// planOf makes the plan of a struct type; nil: it has none.
func planOf(t reflect.Type) *plan {
	if t.Kind() != reflect.Struct || t.Size() == 0 || isSpecial(t) {
		return nil
	}
	p := &plan{head: head.Map, typ: t}
	keys := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" && f.Tag.Get("cbor") == ",toarray" {
			p.head = head.Array
			continue
		}
		key, skip, ok := keyOf(f)
		if !ok || keys[string(key)] {
			return nil
		}
		if skip {
			continue
		}
		keys[string(key)] = true
		pf := planField{key: key, offset: f.Offset, kind: f.Type.Kind()}
		if !pf.plain(f.Type) {
			return nil
		}
		p.fields = append(p.fields, pf)
	}
	if len(p.fields) == 0 || len(p.fields) > planFieldsMax {
		return nil
	}
	p.finish(t)
	return p
}

func (p *plan) finish(t reflect.Type) {
	if p.head == head.Array {
		for i := range p.fields {
			p.fields[i].key = nil
		}
	} else {
		slices.SortFunc(p.fields, func(a, b planField) int { return bytes.Compare(a.key, b.key) })
	}
	p.head |= byte(len(p.fields))
	zero := reflect.Zero(t).Interface()
	p.word = (*iface)(unsafe.Pointer(&zero)).word
}

func isSpecial(t reflect.Type) bool {
	return slices.ContainsFunc(special, func(s reflect.Type) bool { return t.Implements(s) || reflect.PointerTo(t).Implements(s) })
}

// keyOf is the encoded map key of a field. skip: the field does not travel. ok is false for tags
// that only the library understands.
func keyOf(f reflect.StructField) (key []byte, skip, ok bool) {
	if f.Anonymous {
		return nil, true, f.Type.Kind() == reflect.Struct && f.Type.NumField() == 0
	}
	if !f.IsExported() {
		return nil, true, f.Tag.Get("cbor") == ""
	}
	if _, json := f.Tag.Lookup("json"); json {
		return nil, false, false
	}
	tag := f.Tag.Get("cbor")
	name, asInt := strings.CutSuffix(tag, ",keyasint")
	switch {
	case tag == "-":
		return nil, true, true
	case asInt:
		n, err := strconv.ParseUint(name, 10, 63)
		return head.Append(nil, head.Uint, n), false, err == nil && strconv.FormatUint(n, 10) == name
	case strings.Contains(tag, ","):
		return nil, false, false
	case tag == "":
		name = f.Name
	}
	return append(head.Append(nil, head.Text, uint64(len(name))), name...), false, true
}

// plain reports whether the field's type is one that plans know.
func (f *planField) plain(t reflect.Type) bool {
	if t.Name() != "" && t.PkgPath() != "" && isSpecial(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice:
		return t == byteSlice
	case reflect.Struct:
		f.sub = planOf(t)
		return f.sub != nil
	}
	return false
}

// iface is the layout of an interface value of a type that is not pointer-shaped; no type with a
// plan is.
type iface struct{ word, data unsafe.Pointer }

// append encodes the struct in v.
func (p *plan) append(dst []byte, v any) []byte {
	return p.appendAt(dst, (*iface)(unsafe.Pointer(&v)).data)
}

func (p *plan) appendAt(dst []byte, at unsafe.Pointer) []byte {
	dst = append(dst, p.head)
	for i := range p.fields {
		f := &p.fields[i]
		dst = append(dst, f.key...)
		x := unsafe.Add(at, f.offset)
		switch f.kind {
		case reflect.Bool:
			dst = appendBool(dst, *(*bool)(x))
		case reflect.String:
			s := *(*string)(x)
			dst = append(head.Append(dst, head.Text, uint64(len(s))), s...)
		case reflect.Slice:
			dst = appendBytes(dst, *(*[]byte)(x))
		case reflect.Struct:
			dst = f.sub.appendAt(dst, x)
		default:
			dst = appendInt(dst, f.kind, x)
		}
	}
	return dst
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, head.True)
	}
	return append(dst, head.False)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, head.Null)
	}
	return append(head.Append(dst, head.Bytes, uint64(len(b))), b...)
}

func appendInt(dst []byte, k reflect.Kind, x unsafe.Pointer) []byte {
	var n int64
	switch k {
	case reflect.Int:
		n = int64(*(*int)(x))
	case reflect.Int8:
		n = int64(*(*int8)(x))
	case reflect.Int16:
		n = int64(*(*int16)(x))
	case reflect.Int32:
		n = int64(*(*int32)(x))
	case reflect.Int64:
		n = *(*int64)(x)
	case reflect.Uint:
		return head.Append(dst, head.Uint, uint64(*(*uint)(x)))
	case reflect.Uint8:
		return head.Append(dst, head.Uint, uint64(*(*uint8)(x)))
	case reflect.Uint16:
		return head.Append(dst, head.Uint, uint64(*(*uint16)(x)))
	case reflect.Uint32:
		return head.Append(dst, head.Uint, uint64(*(*uint32)(x)))
	default:
		return head.Append(dst, head.Uint, *(*uint64)(x))
	}
	if n < 0 {
		return head.Append(dst, head.Int, uint64(^n))
	}
	return head.Append(dst, head.Uint, uint64(n))
}

// decode makes a struct of what append wrote; false: the bytes are something else, perhaps of the
// same meaning.
func (p *plan) decode(b []byte) (any, bool) {
	at := reflect.New(p.typ).UnsafePointer()
	r := reader{b: b}
	if !p.decodeAt(&r, at) || r.bad || r.at != len(b) {
		return nil, false
	}
	var v any
	*(*iface)(unsafe.Pointer(&v)) = iface{p.word, at}
	return v, true
}

func (p *plan) decodeAt(r *reader, at unsafe.Pointer) bool {
	if r.next() != p.head {
		return false
	}
	for i := range p.fields {
		f := &p.fields[i]
		if !r.skip(f.key) {
			return false
		}
		if !f.decodeAt(r, unsafe.Add(at, f.offset)) || r.bad {
			return false
		}
	}
	return true
}

func (f *planField) decodeAt(r *reader, x unsafe.Pointer) bool {
	switch f.kind {
	case reflect.Bool:
		b := r.next()
		*(*bool)(x) = b == head.True
		return b == head.True || b == head.False
	case reflect.String:
		s := r.str(head.Text)
		if r.bad || !utf8.Valid(s) {
			return false
		}
		*(*string)(x) = string(s)
		return true
	case reflect.Slice:
		s := r.str(head.Bytes)
		if r.bad {
			return false
		}
		c := make([]byte, len(s))
		copy(c, s)
		*(*[]byte)(x) = c
		return true
	case reflect.Struct:
		return f.sub.decodeAt(r, x)
	}
	return decodeInt(r, f.kind, x)
}

func decodeInt(r *reader, k reflect.Kind, x unsafe.Pointer) bool {
	negative := r.isMajor(head.Int)
	var u uint64
	if negative {
		u = r.head(head.Int)
	} else {
		u = r.head(head.Uint)
	}
	n := int64(u)
	if negative {
		n = ^n
	}
	signed := k >= reflect.Int && k <= reflect.Int64
	if r.bad || signed && int64(u) < 0 || !signed && negative {
		return false
	}
	return storeInt(k, x, n, u)
}

func storeInt(k reflect.Kind, x unsafe.Pointer, n int64, u uint64) (fits bool) {
	switch k {
	case reflect.Int:
		*(*int)(x) = int(n)
		return int64(int(n)) == n
	case reflect.Int8:
		*(*int8)(x) = int8(n)
		return int64(int8(n)) == n
	case reflect.Int16:
		*(*int16)(x) = int16(n)
		return int64(int16(n)) == n
	case reflect.Int32:
		*(*int32)(x) = int32(n)
		return int64(int32(n)) == n
	case reflect.Int64:
		*(*int64)(x) = n
	case reflect.Uint:
		*(*uint)(x) = uint(u)
		return uint64(uint(u)) == u
	case reflect.Uint8:
		*(*uint8)(x) = uint8(u)
		return u <= 1<<8-1
	case reflect.Uint16:
		*(*uint16)(x) = uint16(u)
		return u <= 1<<16-1
	case reflect.Uint32:
		*(*uint32)(x) = uint32(u)
		return u <= 1<<32-1
	default:
		*(*uint64)(x) = u
	}
	return true
}
