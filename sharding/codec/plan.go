package codec

import (
	"bytes"
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/coterie-go/coterie/crdt/cbor"
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
	p, array := &plan{typ: t}, false
	keys := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" && f.Tag.Get("cbor") == ",toarray" {
			array = true
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
	p.finish(t, array)
	return p
}

func (p *plan) finish(t reflect.Type, array bool) {
	if array {
		p.head = cbor.AppendArray(nil, len(p.fields))[0]
		for i := range p.fields {
			p.fields[i].key = nil
		}
	} else {
		p.head = cbor.AppendMap(nil, len(p.fields))[0]
		slices.SortFunc(p.fields, func(a, b planField) int { return bytes.Compare(a.key, b.key) })
	}
	zero := reflect.Zero(t).Interface()
	p.word = (*iface)(unsafe.Pointer(&zero)).word
}

func isSpecial(t reflect.Type) bool {
	return slices.ContainsFunc(special, func(s reflect.Type) bool {
		return t.Implements(s) || reflect.PointerTo(t).Implements(s)
	})
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
		return cbor.AppendUint(nil, n), false, err == nil && strconv.FormatUint(n, 10) == name
	case strings.Contains(tag, ","):
		return nil, false, false
	case tag == "":
		name = f.Name
	}
	return cbor.AppendText(nil, name), false, true
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
			dst = cbor.AppendBool(dst, *(*bool)(x))
		case reflect.String:
			dst = cbor.AppendText(dst, *(*string)(x))
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

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return cbor.AppendNull(dst)
	}
	return cbor.AppendBytes(dst, b)
}

func appendInt(dst []byte, k reflect.Kind, x unsafe.Pointer) []byte {
	switch k {
	case reflect.Int:
		return cbor.AppendInt(dst, int64(*(*int)(x)))
	case reflect.Int8:
		return cbor.AppendInt(dst, int64(*(*int8)(x)))
	case reflect.Int16:
		return cbor.AppendInt(dst, int64(*(*int16)(x)))
	case reflect.Int32:
		return cbor.AppendInt(dst, int64(*(*int32)(x)))
	case reflect.Int64:
		return cbor.AppendInt(dst, *(*int64)(x))
	case reflect.Uint:
		return cbor.AppendUint(dst, *(*uint)(x))
	case reflect.Uint8:
		return cbor.AppendUint(dst, *(*uint8)(x))
	case reflect.Uint16:
		return cbor.AppendUint(dst, *(*uint16)(x))
	case reflect.Uint32:
		return cbor.AppendUint(dst, *(*uint32)(x))
	}
	return cbor.AppendUint(dst, *(*uint64)(x))
}

// decode makes a struct of what append wrote; false: the bytes are something else, perhaps of the
// same meaning.
func (p *plan) decode(b []byte) (any, bool) {
	at := reflect.New(p.typ).UnsafePointer()
	r := cbor.NewReader(b)
	if !p.decodeAt(r, at) || r.End() != nil {
		return nil, false
	}
	var v any
	*(*iface)(unsafe.Pointer(&v)) = iface{p.word, at}
	return v, true
}

func (p *plan) decodeAt(r *cbor.Reader, at unsafe.Pointer) bool {
	if r.Byte() != p.head {
		return false
	}
	for i := range p.fields {
		f := &p.fields[i]
		if !r.Skip(f.key) || !f.decodeAt(r, unsafe.Add(at, f.offset)) || r.Err() != nil {
			return false
		}
	}
	return true
}

// decodeAt reads a field. It reports whether the field fits; the reader may have a fault besides.
func (f *planField) decodeAt(r *cbor.Reader, x unsafe.Pointer) bool {
	switch f.kind {
	case reflect.Bool:
		*(*bool)(x) = r.Bool()
	case reflect.String:
		*(*string)(x) = r.Text(cbor.Any)
	case reflect.Slice:
		s := r.Bytes(cbor.Any)
		c := make([]byte, len(s))
		copy(c, s)
		*(*[]byte)(x) = c
	case reflect.Struct:
		return f.sub.decodeAt(r, x)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return storeInt(f.kind, x, r.Int())
	default:
		return storeUint(f.kind, x, r.Uint())
	}
	return true
}

func storeInt(k reflect.Kind, x unsafe.Pointer, n int64) (fits bool) {
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
	}
	*(*int64)(x) = n
	return true
}

func storeUint(k reflect.Kind, x unsafe.Pointer, n uint64) (fits bool) {
	switch k {
	case reflect.Uint:
		*(*uint)(x) = uint(n)
		return uint64(uint(n)) == n
	case reflect.Uint8:
		*(*uint8)(x) = uint8(n)
		return n <= math.MaxUint8
	case reflect.Uint16:
		*(*uint16)(x) = uint16(n)
		return n <= math.MaxUint16
	case reflect.Uint32:
		*(*uint32)(x) = uint32(n)
		return n <= math.MaxUint32
	}
	*(*uint64)(x) = n
	return true
}
