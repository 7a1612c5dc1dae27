package lease

import (
	"context"
	"time"
)

// Store is where leases are kept. Its methods may be called from any goroutine.
type Store interface {
	// Lease returns the owner's door to a name, not acquired. The owner's name is for those who look; two doors of one name contend, whatever their
	// owners are called. It fails if the store cannot be used, or the name cannot be one: 1 to NameMax bytes of UTF-8.
	Lease(name, owner string) (Lease, error)
	// ID is the same for all who use this store, and for no other: nodes that must not have two stores compare it.
	ID() string
}

// Lease is one owner's door to one name. Its methods may be called from any goroutine; those with a context may wait for the store, the others do not.
//
// Laws: at any instant at most one Lease of a name has an Until that lies ahead on its own process's clock. The end of a process releases what it
// held, at once or when its Until has passed. After Release has returned, or lost was called, no Save of the time before takes effect any more.
type Lease interface {
	// Acquire tries once to become the holder and does not wait for the present one: false, and no error, says that there is another. The holder
	// acquires again without effect. lost is called, once and on a goroutine of its own, if the holder ceases to be one without having released; it may be nil.
	// After an error the owner may or may not be the holder; Release clears that up.
	Acquire(ctx context.Context, lost func(error)) (bool, error)
	// Release gives the lease back. Whoever does not hold it releases nothing. Until is zero from the moment of the call.
	Release(ctx context.Context) error
	// Until is when the present hold ends unless it is prolonged, which is the implementation's work: before that time, read on this process's clock, nobody
	// else becomes the holder. Zero: not the holder. Ask at the moment of acting, never earlier.
	Until() time.Time
	// Load reads the record under the name; nil = none was ever saved. Only the holder may, else it is ErrNotHeld: whoever is not sees nothing to rely on.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the record, of at most RecordMax bytes, and returns when it is durable. Only the holder may, else it is ErrNotHeld and nothing has
	// changed. After another error the record may be the old or the new one, whole.
	Save(ctx context.Context, record []byte) error
	// Close releases and ends the door; what is called later fails with ErrClosed.
	Close() error
}

// Holder is what a Lease may implement beside: it says who holds the name, or did last, for those who look; empty
// when nobody knows.
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
