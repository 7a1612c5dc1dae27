package crdt

import "errors"

// Errors of Update, returned to the caller.
var (
	ErrTypeClash = errors.New("crdt: key holds a value of another type")                   // delete the key, or use another
	ErrDeleted   = errors.New("crdt: key is deleted forever")                              // by DeleteForever; use another
	ErrNested    = errors.New("crdt: type cannot stand in a map")                          // NodeSet and NodeMap are whole keys
	ErrKey       = errors.New("crdt: invalid key")                                         // empty or not UTF-8
	ErrTooLarge  = errors.New("crdt: limit exceeded")                                      // see the limits KeyMax to EventsMax
	ErrElement   = errors.New("crdt: value cannot be encoded")                             // a pointer, an unexported field, text that is not UTF-8
	ErrOverflow  = errors.New("crdt: number overflow")                                     // a counter beyond 64 bits
	ErrPanic     = errors.New("crdt: user code panicked")                                  // update function, Merge, View; of reads too
	ErrTxDone    = errors.New("crdt: transaction used after its update function returned") // a mutator was kept
)

// ErrDecode: an element or a value was read as another type than that of which it was written.
// Reads wrap it in ErrTypeClash.
var ErrDecode = errors.New("crdt: cannot be read as that type")

// Errors about what a peer sent or a disk held.
var (
	ErrMalformed = errors.New("crdt: malformed")                 // bytes or groups that no correct replica makes
	ErrOwnFuture = errors.New("crdt: own origin used elsewhere") // a peer names events of this origin that this replica did not make
	ErrDigest    = errors.New("crdt: digest mismatch")           // Load: rows, clock and digest do not belong together
)
