package crdt

import "errors"

// Errors of Update, returned to the caller.
var (
	ErrTypeClash = errors.New("crdt: key holds a value of another type")
	ErrKey       = errors.New("crdt: invalid key")
	ErrTooLarge  = errors.New("crdt: limit exceeded")
	ErrOverflow  = errors.New("crdt: counter overflow")
	ErrPanic     = errors.New("crdt: update function panicked")
	ErrTxDone    = errors.New("crdt: transaction used after its update function returned")
)

// Errors about what a peer sent or a disk held.
var (
	ErrMalformed = errors.New("crdt: malformed")                 // bytes or groups that no correct replica makes
	ErrOwnFuture = errors.New("crdt: own origin used elsewhere") // a peer names dots of this origin that this replica did not make
	ErrDigest    = errors.New("crdt: digest mismatch")           // Load: rows, clock and digest do not belong together
)
