package locks

import (
	"context"
	"time"
)

// Store is where leases are kept. Its methods may be called from any goroutine. A node survives a
// panic of theirs, see Guarded.
type Store interface {
	// Lock returns the owner's door to a name, not acquired. The owner's name only informs readers
	// of Holder: two doors of one name contend, whatever their owners are called. It fails if the
	// store cannot be used, or the name cannot be one: 1 to NameMax bytes of UTF-8.
	Lock(name, owner string) (Lock, error)
	// ID is the same for all users of this store, and for no other store: nodes that must not have
	// two stores compare it.
	ID() string
}

// Lock is one owner's door to one name. Its methods may be called from any goroutine; those with a
// context may wait for the store, the others do not.
//
// Laws: at any instant at most one Lock of a name has an Until that lies ahead on its own process's
// clock. The end of a process releases what it held, at once or when its Until has passed. After
// Release has returned, or lost was called, no Save of the time before takes effect any more.
type Lock interface {
	// Acquire tries once to become the holder and does not wait for the present one: false, and no
	// error, says that there is another. The holder acquires again without effect. lost is called,
	// once and on a goroutine of its own, if the holder ceases to be one without having released;
	// it may be nil. After an error the owner may or may not be the holder; Release clears that up.
	Acquire(ctx context.Context, lost func(error)) (bool, error)
	// Release gives the lease back. It does nothing if the caller does not hold the lease. Until is
	// zero from the moment of the call.
	Release(ctx context.Context) error
	// Until returns the end of the present hold, which the implementation prolongs. Before that
	// time, read on this process's clock, no other owner becomes the holder. Zero: not the holder.
	// Ask at the moment of acting, never earlier.
	Until() time.Time
	// Load reads the record under the name; nil = none was ever saved. It returns ErrNotHeld unless
	// the caller is the holder, for another caller sees nothing to rely on.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the record, of at most RecordMax bytes, and returns when it is durable. Only
	// the holder may, else it is ErrNotHeld and nothing has changed. After another error the record
	// may be the old or the new one, whole.
	Save(ctx context.Context, record []byte) error
	// Close releases and ends the door; what is called later fails with ErrClosed.
	Close() error
}

// Holder is an optional interface of a Lock. It names the present or last holder of the name, for
// information; empty when that is not known.
type Holder interface {
	Holder(ctx context.Context) string
}

const (
	// NameMax bounds the names of leases, in bytes.
	NameMax = 150
	// RecordMax bounds a record, in bytes.
	RecordMax = 1 << 20
)

// Forever is the Until of a lease that cannot be lost while its process lives.
var Forever = time.Unix(1<<40, 0)
