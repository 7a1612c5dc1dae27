package locks

import (
	"errors"
	"strings"
)

var (
	// ErrNotHeld: another may hold the lease. The usual cause is that it was lost or released
	// meanwhile.
	ErrNotHeld = errors.New("lease is not held")
	// ErrClosed: the door, or its store, was closed.
	ErrClosed = errors.New("lease is closed")
	// ErrBadName: the name is empty, longer than NameMax, or not UTF-8.
	ErrBadName = errors.New("name of a lease is not allowed")
	// ErrTooLarge: a record above RecordMax.
	ErrTooLarge = errors.New("record of a lease is too large")
	// ErrForeign: what is there was not made by this implementation. The usual cause is a wrong
	// path.
	ErrForeign = errors.New("not a store of leases")
	// ErrDamaged: a record does not make sense. It is never taken for no record.
	ErrDamaged = errors.New("record of a lease is damaged")
	// ErrUnusable: the store cannot do what leases need, or cannot be reached. The usual causes are
	// permissions and network file systems.
	ErrUnusable = errors.New("store of leases cannot be used")
	// ErrReplaced: the lease was removed or replaced behind its holder's back.
	ErrReplaced = errors.New("lease was replaced")
	// ErrPanicked: a method of the store or of a lease has panicked, see Guarded. It is a defect of
	// that implementation.
	ErrPanicked = errors.New("store of leases panicked")
)

// Error says which file or lease a failure is about, what was found, and what to do.
type Error struct {
	Kind   error  // one of the errors above
	Path   string // what it is about
	Detail string // what was found, may be empty
	Remedy string // what to do
	Cause  error  // what the system said, may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("lease: " + e.Kind.Error() + ": " + e.Path)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
