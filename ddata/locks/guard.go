package locks

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Panic tells of a method of a Store or a Lock that has panicked.
type Panic struct {
	Call  string // the method, such as "Lock.Acquire"
	Name  string // of the lease
	Value any    // of the panic
	Stack []byte
}

// Guarded returns a Store that survives panics of s: the method returns ErrPanicked, and Until and
// Holder say that the lease is not held. Each panic is handed to panicked, on the goroutine of the
// call, which may hold locks of its own. ID is called as it is: it belongs to the configuration,
// and the caller of Start sees its panic.
//
// Stores are called on goroutines that a node lives by. A panic there would end the process, and
// with it everything that does not need the lease.
func Guarded(s Store, panicked func(Panic)) Store { return &guardedStore{s, panicked} }

type guardedStore struct {
	Store
	panicked func(Panic)
}

// guardedLease is a door of a guardedStore.
type guardedLease struct {
	door     Lock
	name     string
	panicked func(Panic)
}

var (
	_ Store  = (*guardedStore)(nil)
	_ Lock   = (*guardedLease)(nil)
	_ Holder = (*guardedLease)(nil)
)

// guard makes an error of a panic. It is deferred around a call.
func guard(call, name string, panicked func(Panic), err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s %q: %w: %v", call, name, ErrPanicked, p)
		panicked(Panic{Call: call, Name: name, Value: p, Stack: debug.Stack()})
	}
}

// Lock implements Store.
func (s *guardedStore) Lock(name, owner string) (l Lock, err error) {
	defer guard("Store.Lock", name, s.panicked, &err)
	door, err := s.Store.Lock(name, owner)
	if err != nil {
		return nil, err
	}
	return &guardedLease{door, name, s.panicked}, nil
}

// Acquire implements Lock.
func (l *guardedLease) Acquire(ctx context.Context, lost func(error)) (ok bool, err error) {
	defer guard("Lock.Acquire", l.name, l.panicked, &err)
	return l.door.Acquire(ctx, lost)
}

// Release implements Lock.
func (l *guardedLease) Release(ctx context.Context) (err error) {
	defer guard("Lock.Release", l.name, l.panicked, &err)
	return l.door.Release(ctx)
}

// Until implements Lock.
func (l *guardedLease) Until() (until time.Time) {
	var err error
	defer guard("Lock.Until", l.name, l.panicked, &err)
	return l.door.Until()
}

// Load implements Lock.
func (l *guardedLease) Load(ctx context.Context) (record []byte, err error) {
	defer guard("Lock.Load", l.name, l.panicked, &err)
	return l.door.Load(ctx)
}

// Save implements Lock.
func (l *guardedLease) Save(ctx context.Context, record []byte) (err error) {
	defer guard("Lock.Save", l.name, l.panicked, &err)
	return l.door.Save(ctx, record)
}

// Close implements Lock.
func (l *guardedLease) Close() (err error) {
	defer guard("Lock.Close", l.name, l.panicked, &err)
	return l.door.Close()
}

// Holder implements Holder: empty if the door does not.
func (l *guardedLease) Holder(ctx context.Context) (holder string) {
	var err error
	defer guard("Lock.Holder", l.name, l.panicked, &err)
	if h, ok := l.door.(Holder); ok {
		return h.Holder(ctx)
	}
	return ""
}
