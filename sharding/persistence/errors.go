package persistence

import "errors"

// Errors about one hosting or one write. They say that the call, or the write, had no effect. Every
// other error is about the store: the caller does not know whether its call took effect, and may
// repeat it.
var (
	// ErrFenced: a hosting with a higher token has begun. This one is over.
	ErrFenced = errors.New("persistence: a later hosting of the shard has taken over")
	// ErrConflict: the entity's history does not end where the write expects it to. Load it again.
	ErrConflict = errors.New("persistence: the sequence number does not fit")
	// ErrTooLarge: the write is above one of the limits of the port or of the store.
	ErrTooLarge = errors.New("persistence: the write is too large")
)

// Errors about what a store holds. No repetition helps: a person has to look at it.
var (
	// ErrDamaged: what was read is not what was written.
	ErrDamaged = errors.New("persistence: stored data is damaged")
	// ErrForeign: the place holds something, but nothing of ours. The usual cause is a wrong path or
	// a wrong database.
	ErrForeign = errors.New("persistence: the place belongs to something else")
	// ErrVersion: a newer version of this library wrote it. The usual cause is a downgrade.
	ErrVersion = errors.New("persistence: the stored format is newer than this program")
)

// ErrClosed: the program has closed the store. No repetition helps. The usual cause is a store that
// is closed before its node has left. A call of a store that may be closed returns it.
var ErrClosed = errors.New("persistence: the store is closed; close it after the node has left")

// Refusal says of one element of a call that it had no effect, and why.
type Refusal struct {
	Index int   // of the element
	Err   error // wraps ErrConflict, ErrTooLarge or ErrDamaged
}
