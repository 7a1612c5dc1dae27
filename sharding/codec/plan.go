package codec

import (
	"bytes"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// plan encodes and decodes a struct of plain fields without walking its type. It writes exactly the
// bytes that the CBOR library writes, and reads exactly those. Everything else that arrives (another
// order, other keys, null for what has no nil) is left to the library, as are all types that have no plan.
type plan struct {
	fields []planField // in the order of the bytes, those of nested structs among them
	rooms  sync.Pool   // of *room
}

// planField is one field, perhaps of a nested struct.
type planField struct {
	lead []byte // what stands before the value: heads of arrays and maps, and the key in a map
	path []int  // the index of the field, behind those of the structs that hold it
	kind reflect.Kind
}

// room is a struct that decode fills and copies. It goes on holding the last message until it is
// used again.
type room struct {
	whole  reflect.Value
	fields []reflect.Value // those of the plan
}

func (p *plan) newRoom(t reflect.Type) *room {
	m := &room{whole: reflect.New(t).Elem()}
	for _, f := range p.fields {
		m.fields = append(m.fields, m.whole.FieldByIndex(f.path))
	}
	return m
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

// structField is one field of a struct with what it brings to the plan.
type structField struct {
	key    []byte // the encoded map key
	fields []planField
}

// planOf makes the plan of a struct type; nil: it has none.
func planOf(t reflect.Type) *plan {
	if t.Kind() != reflect.Struct || t.Size() == 0 || isSpecial(t) {
		return nil
	}
	var members []structField
	array, keys := false, map[string]bool{}
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
		fields := planFields(f.Type, i)
		if fields == nil {
			return nil
		}
		members = append(members, structField{key, fields})
	}
	if len(members) == 0 || len(members) > planFieldsMax {
		return nil
	}
	p := &plan{fields: inOrder(members, array)}
	p.rooms.New = func() any { return p.newRoom(t) }
	return p
}

// plans are those of the types of replies, which are not registered: nil if a type has none.
var plans sync.Map

// planFor is planOf, once for each type.
func planFor(t reflect.Type) *plan {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	p, ok := plans.Load(t)
	if !ok {
		p, _ = plans.LoadOrStore(t, planOf(t))
	}
	return p.(*plan)
}

// planFields returns what the field i of a struct brings to its plan; nil: plans do not know its
// type.
func planFields(t reflect.Type, i int) []planField {
	if t.Kind() != reflect.Struct {
		if !isPlain(t) {
			return nil
		}
		return []planField{{path: []int{i}, kind: t.Kind()}}
	}
	sub := planOf(t)
	if sub == nil {
		return nil
	}
	for j := range sub.fields {
		sub.fields[j].path = slices.Concat([]int{i}, sub.fields[j].path)
	}
	return sub.fields
}

// inOrder returns the fields as they stand in the encoding: in an array as they are declared, in a
// map by their keys.
func inOrder(members []structField, array bool) (out []planField) {
	head := cbor.AppendArray(nil, len(members))
	if !array {
		head = cbor.AppendMap(nil, len(members))
		slices.SortFunc(members, func(a, b structField) int { return bytes.Compare(a.key, b.key) })
	}
	for _, m := range members {
		if !array {
			head = append(head, m.key...)
		}
		m.fields[0].lead = append(head, m.fields[0].lead...)
		out, head = append(out, m.fields...), nil
	}
	return out
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

// isPlain reports whether plans know a type that is no struct.
func isPlain(t reflect.Type) bool {
	if t.Name() != "" && t.PkgPath() != "" && isSpecial(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return t == byteSlice
}

// append encodes the struct in v.
func (p *plan) append(dst []byte, v any) []byte {
	whole := reflect.ValueOf(v)
	for i := range p.fields {
		f := &p.fields[i]
		x := whole.Field(f.path[0])
		for _, inner := range f.path[1:] {
			x = x.Field(inner)
		}
		dst = f.append(append(dst, f.lead...), x)
	}
	return dst
}

func (f *planField) append(dst []byte, x reflect.Value) []byte {
	switch f.kind {
	case reflect.Bool:
		return cbor.AppendBool(dst, x.Bool())
	case reflect.String:
		return cbor.AppendText(dst, x.String())
	case reflect.Slice:
		b := x.Bytes()
		if b == nil {
			return cbor.AppendNull(dst)
		}
		return cbor.AppendBytes(dst, b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cbor.AppendInt(dst, x.Int())
	}
	return cbor.AppendUint(dst, x.Uint())
}

// decode makes a struct of what append wrote; false: the bytes are something else, perhaps of the
// same meaning.
//
// The interface of an addressable value holds a copy of it. So the struct that decode fills is one
// of the pool, and the copy is all that is allocated for the struct.
func (p *plan) decode(b []byte) (any, bool) {
	m := p.rooms.Get().(*room)
	defer p.rooms.Put(m)
	return p.decodeIn(m, b)
}

// decodeIn is decode with a struct of the caller's.
func (p *plan) decodeIn(m *room, b []byte) (any, bool) {
	if !p.fill(m, b) {
		return nil, false
	}
	return m.whole.Interface(), true
}

// decodeTo is decode to a struct that is there. Without success that is as it was.
func (p *plan) decodeTo(to reflect.Value, b []byte) bool {
	m := p.rooms.Get().(*room)
	defer p.rooms.Put(m)
	if !p.fill(m, b) {
		return false
	}
	to.Set(m.whole)
	return true
}

func (p *plan) fill(m *room, b []byte) bool {
	r := cbor.NewReader(b)
	for i := range p.fields {
		f := &p.fields[i]
		if !r.Skip(f.lead) || !f.decode(r, m.fields[i]) || r.Err() != nil {
			return false
		}
	}
	return r.End() == nil
}

// decode reads a field. It reports whether the field fits; the reader may have a fault besides.
func (f *planField) decode(r *cbor.Reader, x reflect.Value) (fits bool) {
	switch f.kind {
	case reflect.Bool:
		x.SetBool(r.Bool())
	case reflect.String:
		x.SetString(r.Text(cbor.Any))
	case reflect.Slice:
		if r.Null() {
			x.SetBytes(nil)
			break
		}
		s := r.Bytes(cbor.Any)
		c := make([]byte, len(s))
		copy(c, s)
		x.SetBytes(c)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := r.Int()
		x.SetInt(n)
		return !x.OverflowInt(n)
	default:
		n := r.Uint()
		x.SetUint(n)
		return !x.OverflowUint(n)
	}
	return true
}
