package replicator

import "errors"

// Errors of operations, in Result.Err, matched with errors.Is. Errors of the package crdt (ErrTypeClash, ErrKey, ErrTooLarge, ErrPanic) and
// those of the caller's own function come through as they are, and mean that nothing happened.
var (
	ErrTimeout           = errors.New("replicator: timeout")                    // the level was not reached in time; errors.As a *TimeoutError tells how far it came
	ErrNotEnoughReplicas = errors.New("replicator: not enough replicas")        // the level asks for more replicas than the view has voters; nothing happened
	ErrStoreFailure      = errors.New("replicator: store failure")              // the own disk refused the write; it lives in memory, is tried again, and is not acknowledged
	ErrLevel             = errors.New("replicator: no level of this operation") // it asks for less than one replica, or it is for reads only
	ErrLearner           = errors.New("replicator: not caught up yet")          // this node has just joined; try again when it has caught up
	ErrOverloaded        = errors.New("replicator: overloaded")                 // too many operations wait, or a peer is slow and the backlog is full; nothing happened
	ErrCancelled         = errors.New("replicator: cancelled")                  // Cancel ended it; a write that was not held back has happened and still spreads
	ErrNoView            = errors.New("replicator: no view installed")          // this node is not a member yet, or no longer
)

// Errors of DecodeMessage.
var (
	ErrMalformed = errors.New("replicator: malformed message")          // bytes that no correct replica sends
	ErrVersion   = errors.New("replicator: message of another version") // the peer runs a program that speaks another protocol
)
