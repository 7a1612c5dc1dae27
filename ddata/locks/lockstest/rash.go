package lockstest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Rash is a store in memory whose methods panic as often as a test has set. It is safe for use by
// several goroutines.
type Rash struct {
	*locks.Memory
	victim string

	mu   sync.Mutex
	left map[string]int // by method: how many of the next calls panic
}

// NewRash returns a store that panics for the owners whose names end with victim; an empty victim
// means all. Nothing panics before the first call of Panic.
func NewRash(victim string) *Rash {
	return &Rash{Memory: locks.NewMemory(), victim: victim, left: map[string]int{}}
}

// Panic lets the next calls of a method of Store or Lock panic with "rash " and the method's name.
func (s *Rash) Panic(method string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[method] = calls
}

func (s *Rash) call(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left[method] > 0 {
		s.left[method]--
		panic("rash " + method)
	}
}

// Lock opens a lock of the store in memory, and panics when that was set.
func (s *Rash) Lock(name, owner string) (locks.Lock, error) {
	if !strings.HasSuffix(owner, s.victim) {
		return s.Memory.Lock(name, owner)
	}
	s.call("Lock")
	l, err := s.Memory.Lock(name, owner)
	return rashLock{l, s}, err
}

type rashLock struct {
	locks.Lock
	s *Rash
}

func (l rashLock) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	l.s.call("Acquire")
	return l.Lock.Acquire(ctx, lost)
}

func (l rashLock) Release(ctx context.Context) error {
	l.s.call("Release")
	return l.Lock.Release(ctx)
}

func (l rashLock) Until() time.Time {
	l.s.call("Until")
	return l.Lock.Until()
}

func (l rashLock) Holder(ctx context.Context) string {
	l.s.call("Holder")
	return l.Lock.(locks.Holder).Holder(ctx)
}

func (l rashLock) Load(ctx context.Context) ([]byte, error) {
	l.s.call("Load")
	return l.Lock.Load(ctx)
}

func (l rashLock) Save(ctx context.Context, record []byte) error {
	l.s.call("Save")
	return l.Lock.Save(ctx, record)
}

func (l rashLock) Close() error {
	l.s.call("Close")
	return l.Lock.Close()
}
