package sharding

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding/codec"
)

// Codec says which concrete types of M travel between nodes, and how. It is made by CBOR and copied
// freely.
type Codec[M any] struct {
	reg *codec.Registry
	err error
}

// Named is implemented by message types whose name on the wire shall outlive a rename or a move to
// another package. The default is the import path and the type's name.
type Named = codec.Named

// Appender is implemented by message types that encode themselves, see codec.Appender.
type Appender = codec.Appender

// Encoding is how values become bytes when CBOR is not wanted, see codec.Encoding.
type Encoding = codec.Encoding

// CBOR registers the concrete types of the examples, whose values do not matter. Struct tags are
// those of fxamacker/cbor (toarray and keyasint make messages small). A pointer registers the
// pointer type. Faults are reported by Start.
func CBOR[M any](examples ...M) Codec[M] { return encoded(nil, examples) }

// Encoded is CBOR with another encoding for messages and replies; Appender and struct tags of CBOR
// mean nothing to it.
func Encoded[M any](enc Encoding, examples ...M) Codec[M] {
	if enc == nil || enc.Name() == "" {
		return Codec[M]{reg: codec.NewRegistry(nil), err: errors.New("Encoded: the encoding is nil or has no name")}
	}
	return encoded(enc, examples)
}

func encoded[M any](enc Encoding, examples []M) Codec[M] {
	r := codec.NewRegistry(enc)
	var faults []error
	for i, ex := range examples {
		if err := r.Register(any(ex)); err != nil {
			faults = append(faults, fmt.Errorf("example %d: %w", i+1, err))
		}
	}
	if len(examples) == 0 {
		faults = append(faults, fmt.Errorf("no example: list one value of every message type"))
	}
	return Codec[M]{reg: r, err: errors.Join(faults...)}
}

// Append appends the encoded message with its type's wire id.
func (c Codec[M]) Append(dst []byte, msg M) ([]byte, error) {
	mt, err := c.reg.Of(msg)
	if err != nil {
		return dst, err
	}
	out, err := mt.Append(cbor.AppendUint(cbor.AppendArray(dst, 2), mt.ID), msg)
	if err != nil {
		return dst, fmt.Errorf("%w: %s: %w", ErrEncoding, mt.Name, err)
	}
	return out, nil
}

// Decode reads what Append has written. The message shares no memory with b.
func (c Codec[M]) Decode(b []byte) (M, error) {
	var none M
	rd := cbor.NewReader(b)
	rd.Tuple(2)
	typ := rd.Uint32()
	mt := c.reg.WithID(typ)
	switch {
	case rd.Err() != nil:
		return none, fmt.Errorf("%w: %d bytes are no message", ErrEncoding, len(b))
	case mt == nil:
		return none, fmt.Errorf("%w: wire id %08x", ErrUnregisteredMessage, typ)
	}
	v, err := mt.Decode(rd.Rest())
	if err != nil {
		return none, fmt.Errorf("%w: %s: %w", ErrEncoding, mt.Name, err)
	}
	msg, ok := v.(M)
	if !ok {
		return none, fmt.Errorf("%w: %s is not for entities", ErrUnregisteredMessage, mt.Name)
	}
	return msg, nil
}
