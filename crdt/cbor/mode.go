package cbor

import (
	"bytes"
	"errors"
	"fmt"

	library "github.com/fxamacker/cbor/v2"
)

// Mode encodes and decodes Go values by reflection. Struct tags are those of fxamacker/cbor. A Mode
// refuses indefinite lengths, tags and keys that stand twice in a map. It is immutable and may be
// used by many goroutines at a time.
type Mode struct {
	enc   library.UserBufferEncMode
	dec   library.DecMode
	exact library.DecMode // refuses fields that a struct does not have
}

// The modes of the tree, by purpose. Memory that decoding takes is in proportion to the input.
var (
	// Values is for values of users that are replicated. A nil slice or map is an empty one, so that
	// equal values have equal bytes. Times keep their nanoseconds.
	Values = newMode(library.EncOptions{NilContainers: library.NilContainerAsEmpty}, limits{
		nesting: 16, elements: 1 << 20, pairs: 1 << 19,
	})

	// Messages is for messages of users. A nil slice or map is null. Times keep their nanoseconds.
	Messages = newMode(library.EncOptions{IndefLength: library.IndefLengthForbidden, TagsMd: library.TagsForbidden},
		limits{nesting: 32, elements: 1 << 20, pairs: 1 << 20})

	// Records is for structs of this tree that are rare: views, handshakes, notes on a disk. They
	// hold no times.
	Records = newMode(library.EncOptions{}, limits{nesting: 8, elements: RecordElementsMax, pairs: 64})
)

// RecordElementsMax bounds the elements of one array in Records.
const RecordElementsMax = 4096

// limits bounds what a mode decodes.
type limits struct{ nesting, elements, pairs int }

// ErrUnknownField: a map has a field that the struct does not have.
var ErrUnknownField = errors.New("cbor: unknown field")

// Marshaler is implemented by types that a Mode lets encode themselves, as one data item.
type Marshaler = library.Marshaler

// Unmarshaler is implemented by types that a Mode lets decode themselves.
type Unmarshaler = library.Unmarshaler

// newMode makes a mode of its own options. The rest is common: core-deterministic encoding.
func newMode(own library.EncOptions, max limits) *Mode {
	enc := library.CoreDetEncOptions()
	enc.NilContainers, enc.IndefLength, enc.TagsMd = own.NilContainers, own.IndefLength, own.TagsMd
	enc.Time = library.TimeRFC3339Nano // the default drops what is below a second, silently
	dec := library.DecOptions{
		DupMapKey: library.DupMapKeyEnforcedAPF, IndefLength: library.IndefLengthForbidden,
		TagsMd:          library.TagsForbidden,
		MaxNestedLevels: max.nesting, MaxArrayElements: max.elements, MaxMapPairs: max.pairs,
	}
	exact := dec
	exact.ExtraReturnErrors = library.ExtraDecErrorUnknownField
	return &Mode{enc: must(enc.UserBufferEncMode()), dec: must(dec.DecMode()), exact: must(exact.DecMode())}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Append appends the encoding of v. After an error it returns dst as it was.
func (m *Mode) Append(dst []byte, v any) ([]byte, error) {
	return m.AppendBy(new(bytes.Buffer), dst, v)
}

// AppendBy is Append by a buffer of the caller's, which may use it again and again. The buffer holds
// nothing before and afterwards.
func (m *Mode) AppendBy(buf *bytes.Buffer, dst []byte, v any) ([]byte, error) {
	*buf = *bytes.NewBuffer(dst)
	err := m.enc.MarshalToBuffer(v, buf)
	out := buf.Bytes()
	*buf = bytes.Buffer{}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// MustAppend is Append of a value whose type always encodes. It panics if it does not.
func (m *Mode) MustAppend(dst []byte, v any) []byte { return must(m.Append(dst, v)) }

// Decode decodes b, which is one data item, into what v points to. The value shares no memory with
// b. Fields that a struct does not have are left out.
func (m *Mode) Decode(b []byte, v any) error { return m.dec.Unmarshal(b, v) }

// DecodeExactly is Decode, and fails with ErrUnknownField where a struct does not have a field.
func (m *Mode) DecodeExactly(b []byte, v any) error {
	err := m.exact.Unmarshal(b, v)
	if unknown := (*library.UnknownFieldError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", ErrUnknownField, err)
	}
	return err
}
