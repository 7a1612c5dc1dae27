package codec

import "errors"

// Errors of what cannot travel.
var (
	// ErrUnregistered: the concrete type of a message is not known to the registry.
	ErrUnregistered = errors.New("sharding: message type is not registered")
	// ErrEncoding: a message could not be encoded or decoded.
	ErrEncoding = errors.New("sharding: message encoding")
)
