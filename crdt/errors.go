package crdt

import "errors"

// Errors of Update, returned to the caller.
var (
	// ErrTypeClash says that the key holds a value of another type: delete it, or use another key.
	ErrTypeClash = errors.New("crdt: key holds a value of another type")
	// ErrDeleted says that the key is permanently deleted, by DeleteForever: use another one.
	ErrDeleted = errors.New("crdt: key is deleted forever")
	// ErrNested says that a NodeSet or a NodeMap was put into a map: these are whole keys.
	ErrNested = errors.New("crdt: type cannot stand in a map")
	// ErrKey says that a key is empty or not UTF-8.
	ErrKey = errors.New("crdt: invalid key")
	// ErrTooLarge says that one of the limits KeyMax to EventsMax is exceeded.
	ErrTooLarge = errors.New("crdt: limit exceeded")
	// ErrElement says that a value is a pointer, has an unexported field, or has text that is not
	// UTF-8.
	ErrElement = errors.New("crdt: value cannot be encoded")
	// ErrOverflow says that a counter would need more than 64 bits.
	ErrOverflow = errors.New("crdt: number overflow")
	// ErrPanic says that an update function, Merge or View panicked; of reads too.
	ErrPanic = errors.New("crdt: user code panicked")
	// ErrTxDone says that a mutator was kept.
	ErrTxDone = errors.New("crdt: transaction used after its update function returned")
)

// ErrDecode: an element or a value was read as another type than that of which it was written.
// Reads wrap it in ErrTypeClash.
var ErrDecode = errors.New("crdt: cannot be read as that type")

// Errors about what a peer sent or a disk held.
var (
	// ErrMalformed says that no correct replica makes such bytes or groups.
	ErrMalformed = errors.New("crdt: malformed")
	// ErrOwnFuture says that a peer names events of this origin that this replica did not make.
	ErrOwnFuture = errors.New("crdt: own origin used elsewhere")
	// ErrDigest says that the rows, the clock and the digest of Load do not belong together.
	ErrDigest = errors.New("crdt: digest mismatch")
)
