package schema

import "errors"

var (
	// ErrInvalid: a schema is incomplete or contradicts itself. The message lists every fault.
	ErrInvalid = errors.New("schema: invalid schema")
	// ErrUnlisted: the type of a value is not in the schema. Nothing was stored.
	ErrUnlisted = errors.New("schema: the type is not in the schema")
	// ErrEncoding: a value could not be encoded. The usual cause is a field that CBOR does not know,
	// such as a channel.
	ErrEncoding = errors.New("schema: the value cannot be encoded")
	// ErrUnknown: the schema does not have the name under which a value was stored. The usual cause
	// is a type that was taken out of it.
	ErrUnknown = errors.New("schema: unknown name")
	// ErrNewer: the value was stored in a newer version than this program knows. The usual cause is
	// a program that was set back.
	ErrNewer = errors.New("schema: stored by a newer program")
	// ErrDecoding: the bytes are no value of the type.
	ErrDecoding = errors.New("schema: the value cannot be decoded")
	// ErrUpcast: an up-caster has failed or panicked.
	ErrUpcast = errors.New("schema: up-caster failed")
)
