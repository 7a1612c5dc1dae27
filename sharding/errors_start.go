package sharding

import "errors"

// Errors of Start: the configuration is wrong, or does not fit the node.
var (
	// ErrConfig: the EntityType is incomplete or out of bounds. The message lists every fault.
	ErrConfig = errors.New("sharding: invalid entity type")
	// ErrAlreadyStarted: the type's name is already in use on this node with other settings or
	// another message type, or by a region that was closed while handlers run.
	ErrAlreadyStarted = errors.New("sharding: entity type already started")
	// ErrNotStarted: no type of that name runs on this node; Start or StartProxy starts it.
	ErrNotStarted = errors.New("sharding: entity type not started")
)
