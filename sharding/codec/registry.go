package codec

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// Named is implemented by message types whose name on the wire shall outlive a rename or a move to
// another package. The default is the import path and the type's name.
type Named interface{ MessageName() string }

// Appender is implemented by message types that encode themselves: one CBOR data item, appended to
// dst. Its counterpart is cbor.Unmarshaler. Use it for hot messages that are not structs of plain
// fields.
type Appender interface {
	AppendCBOR(dst []byte) ([]byte, error)
}

// Encoding is how values become bytes when CBOR is not wanted. It is used by many goroutines at a
// time. What it makes of a value must be the same type's to decode on every node; a node with an
// encoding of another name refuses the message.
type Encoding interface {
	// Name is the same on every node.
	Name() string
	// Append appends the encoding of v to dst.
	Append(dst []byte, v any) ([]byte, error)
	// Decode decodes b into what v points to. It must not keep b, nor allocate more than in
	// proportion to it: b may be of a stranger.
	Decode(b []byte, v any) error
}

// Registry maps wire ids to types. It is immutable once all are registered.
type Registry struct {
	Encoding Encoding // nil: CBOR
	byID     map[uint32]*Type
	byType   map[reflect.Type]*Type
	quick    [quickPlaces]*Type // of byType, each in its place, unless one that was kept later has that
	first    atomic.Pointer[Type]
}

// Many entities are told messages of one type, which is looked at before all others: that of the first message. It
// does not follow the type that comes next: where several take turns, processors would take that word from each other.
// The others have their places, for the map costs as much as a third of a local Tell.
const quickPlaces = 64

// Type is what is known of one concrete message type.
type Type struct {
	ID       uint32 // low half of the xxh3 of Name
	Name     string
	Go       reflect.Type
	pointer  bool
	Answer   reflect.Type // what the request is answered with; nil: not a request
	selfMade bool         // implements Appender
	Encoding Encoding     // nil: CBOR
	plan     *plan        // nil: the library encodes and decodes
}

// NewRegistry knows the types that are reserved. enc encodes all others; nil: CBOR.
func NewRegistry(enc Encoding) *Registry {
	r := &Registry{Encoding: enc, byID: map[uint32]*Type{}, byType: map[reflect.Type]*Type{}}
	r.reserve()
	return r
}

// Register adds the concrete type of an example.
func (r *Registry) Register(example any) error {
	t := reflect.TypeOf(example)
	if t == nil {
		return fmt.Errorf("it is nil and has no concrete type")
	}
	m := &Type{Go: t, pointer: t.Kind() == reflect.Pointer, Name: nameOf(example, t)}
	if m.Name == "" {
		return fmt.Errorf("type %v has no name: give it a name or a MessageName method", t)
	}
	if prev := r.byType[t]; prev != nil {
		return nil
	}
	m.ID = uint32(xxh3.HashString(m.Name))
	if prev := r.byID[m.ID]; prev != nil {
		return fmt.Errorf("types %v and %v share the wire id of names %q and %q: give one another MessageName",
			prev.Go, t, prev.Name, m.Name)
	}
	if reply, ok := t.MethodByName("Reply"); ok && reply.Type.NumIn() == 3 && reply.Type.NumOut() == 0 {
		m.Answer = reply.Type.In(2)
	}
	if m.Encoding = r.Encoding; m.Encoding == nil {
		m.selfMade = t.Implements(reflect.TypeFor[Appender]())
		if !m.pointer && !m.selfMade {
			m.plan = planOf(t)
		}
	}
	r.keep(m)
	return nil
}

func (r *Registry) keep(m *Type) {
	r.byID[m.ID], r.byType[m.Go], r.quick[placeOf(m.Go)] = m, m, m
}

// placeOf is the place of a type among the quick ones. It goes by the address of the type, which never changes.
func placeOf(t reflect.Type) uintptr {
	at := reflect.ValueOf(t).Pointer()
	return (at>>5 ^ at>>11) % quickPlaces
}

func nameOf(example any, t reflect.Type) string {
	if t.Kind() == reflect.Pointer && reflect.ValueOf(example).IsNil() {
		example = reflect.New(t.Elem()).Interface()
	}
	if n, ok := example.(Named); ok {
		return n.MessageName()
	}
	star := ""
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t, star = t.Elem(), star+"*"
	}
	if t.Name() == "" {
		return ""
	}
	return star + t.PkgPath() + "." + t.Name()
}

// WithID is the type with a wire id; nil: none has it.
func (r *Registry) WithID(id uint32) *Type { return r.byID[id] }

// Like is the type of a message; nil: it is not registered.
func (r *Registry) Like(msg any) *Type {
	t := reflect.TypeOf(msg)
	if t == nil {
		return nil
	}
	first := r.first.Load()
	if first != nil && first.Go == t {
		return first
	}
	m := r.quick[placeOf(t)]
	if m == nil || m.Go != t {
		m = r.byType[t]
	}
	if first == nil && m != nil {
		r.first.Store(m)
	}
	return m
}

// Of finds the type of a message, or says what to do about it.
func (r *Registry) Of(msg any) (*Type, error) {
	if m := r.Like(msg); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %T: add an example of it to sharding.CBOR of this entity type on every node",
		ErrUnregistered, msg)
}

// Append appends the CBOR of msg, whose type is m.
func (m *Type) Append(dst []byte, msg any) ([]byte, error) {
	if m.plan != nil {
		return m.plan.append(dst, msg), nil
	}
	return appendValue(m.Encoding, dst, msg, nil)
}

// AppendValue appends v, encoded by an encoding, an Appender, a plan, or the library. All but the plan may run code of
// the user's.
func AppendValue(enc Encoding, dst []byte, v any) ([]byte, error) {
	return appendValue(enc, dst, v, planFor(reflect.TypeOf(v)))
}

// appendValue is AppendValue by a plan, where nothing else is asked for; nil: by none.
func appendValue(enc Encoding, dst []byte, v any, p *plan) (out []byte, err error) {
	out = dst
	defer guard("encoder", &err)
	if enc != nil {
		return appendEncoded(enc, dst, v)
	}
	if out, ok := appendPlain(dst, v); ok {
		return out, nil
	}
	if a, ok := v.(Appender); ok {
		return a.AppendCBOR(dst)
	}
	if p != nil {
		return p.append(dst, v), nil
	}
	buf := buffers.Get().(*bytes.Buffer)
	out, err = cbor.Messages.AppendBy(buf, dst, v)
	buffers.Put(buf)
	return out, err
}

// buffers are for encoding by the library. They hold nothing between two values.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Decode makes a message of its CBOR. b may be reused afterwards.
func (m *Type) Decode(b []byte) (any, error) {
	if m.plan != nil {
		if v, ok := m.plan.decode(b); ok {
			return v, nil
		}
	}
	return m.decodePlain(b)
}

// Decoder decodes messages of one registry, one after the other. It is for one goroutine at a time, and goes on holding
// the last message of some types until one of these types comes again. The zero value is ready, and nil is a Decoder
// that keeps nothing.
type Decoder struct {
	kept [decoderPlaces]struct { // each in the place of its id
		of   *Type
		room *room // for its messages; nil: it has no plan
	}
}

// decoderPlaces is how many types a Decoder keeps at most: those of messages that take turns.
const decoderPlaces = 8

// TypeIn is Registry.WithID.
func (d *Decoder) TypeIn(r *Registry, id uint32) *Type {
	if d == nil {
		return r.WithID(id)
	}
	if m := d.kept[id%decoderPlaces].of; m != nil && m.ID == id {
		return m
	}
	m := r.WithID(id)
	if m != nil {
		d.keep(m)
	}
	return m
}

// keep gives a type its place.
func (d *Decoder) keep(m *Type) {
	k := &d.kept[m.ID%decoderPlaces]
	if k.room != nil {
		k.of.plan.rooms.Put(k.room)
	}
	k.of, k.room = m, nil
	if m.plan != nil {
		k.room = m.plan.rooms.Get().(*room)
	}
}

// Decode makes a message of a type of its CBOR, as Type.Decode does.
func (d *Decoder) Decode(m *Type, b []byte) (any, error) {
	if d == nil || m.plan == nil {
		return m.Decode(b)
	}
	k := &d.kept[m.ID%decoderPlaces]
	if k.of != m {
		d.keep(m)
	}
	if v, ok := m.plan.decodeIn(k.room, b); ok {
		return v, nil
	}
	return m.decodePlain(b)
}

// decodePlain is Decode without a plan.
func (m *Type) decodePlain(b []byte) (any, error) {
	into := func(v any) error { return decodeInto(m.Encoding, b, v, nil) }
	if m.pointer {
		p := reflect.New(m.Go.Elem())
		err := into(p.Interface())
		return p.Interface(), err
	}
	p := reflect.New(m.Go)
	if err := into(p.Interface()); err != nil {
		return nil, err
	}
	return p.Elem().Interface(), nil
}

// appendEncoded appends v. A body that is no CBOR begins with a byte of the encoding's name, so that
// an empty one is a body too, and two encodings are told apart.
func appendEncoded(enc Encoding, dst []byte, v any) ([]byte, error) {
	return enc.Append(append(dst, Mark(enc)), v)
}

// Mark is the first byte of a body in that encoding.
func Mark(enc Encoding) byte { return byte(xxh3.HashString(enc.Name())) }

// DecodeInto decodes a body into what v points to.
func DecodeInto(enc Encoding, b []byte, v any) error {
	return decodeInto(enc, b, v, planFor(reflect.TypeOf(v).Elem()))
}

// decodeInto is DecodeInto by a plan; nil: by none.
func decodeInto(enc Encoding, b []byte, v any, p *plan) (err error) {
	defer guard("decoder", &err)
	switch {
	case enc != nil:
		if len(b) == 0 || b[0] != Mark(enc) {
			return fmt.Errorf("it is not in the encoding %q of this node: use the same on every node", enc.Name())
		}
		return enc.Decode(b[1:], v)
	case decodePlain(b, v), p != nil && p.decodeTo(reflect.ValueOf(v).Elem(), b):
		return nil
	}
	return cbor.Messages.Decode(b, v)
}

// RepliesOpen reports whether the request names an interface as its reply.
func (t *Type) RepliesOpen() bool {
	return t != nil && t.Answer != nil && t.Answer.Kind() == reflect.Interface
}
