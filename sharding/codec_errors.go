package sharding

import "errors"

// Errors of what cannot travel.
var (
	// errUnregistered: the concrete type of a message is not known to the registry.
	errUnregistered = errors.New("sharding: message type is not registered")
	// errEncoding: a message could not be encoded or decoded.
	errEncoding = errors.New("sharding: message encoding")
)
