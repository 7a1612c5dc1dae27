package locks

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Memory is a Store within one process, for tests. The zero value is not usable; NewMemory makes
// one.
type Memory struct {
	id string

	mu    sync.Mutex
	names map[string]*memoryName
	fault error
}

// memoryName is what is kept of a name.
type memoryName struct {
	holder *memoryLease // nil = no owner
	record []byte
}

// NewMemory returns an empty store. Its ID is random: nodes of two processes never seem to have the same one.
func NewMemory() *Memory {
	return &Memory{id: "memory " + rand.Text(), names: make(map[string]*memoryName)}
}

// ID implements Store.
func (m *Memory) ID() string { return m.id }

// Lock implements Store.
func (m *Memory) Lock(name, owner string) (Lock, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[name]
	if n == nil {
		n = &memoryName{}
		m.names[name] = n
	}
	return &memoryLease{m: m, n: n, name: name, owner: owner}, nil
}

// Take takes a name's lease away from its holder, as an expiry would, and tells it so.
func (m *Memory) Take(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.names[name]; n != nil && n.holder != nil {
		lost := n.holder.lost
		n.holder = nil
		if lost != nil {
			go lost(fmt.Errorf("%w: it was taken away", ErrNotHeld))
		}
	}
}

// Fail makes everything that waits for the store fail with err; nil mends it.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

// memoryLease is a door. Its fields are guarded by the store's mutex.
type memoryLease struct {
	m      *Memory
	n      *memoryName
	name   string
	owner  string
	lost   func(error)
	closed bool
}

var (
	_ Store = (*Memory)(nil)
	_ Lock  = (*memoryLease)(nil)
)

// ready says why a call cannot go on; the lock is held.
func (l *memoryLease) readyLocked(ctx context.Context, held bool) error {
	err := errors.Join(ctx.Err(), l.m.fault)
	switch {
	case l.closed:
		err = ErrClosed
	case err == nil && held && l.n.holder != l:
		err = ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("lease %q: %w", l.name, err)
	}
	return nil
}

func (l *memoryLease) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.readyLocked(ctx, false); err != nil {
		return false, err
	}
	if l.n.holder == nil {
		l.n.holder, l.lost = l, lost
	}
	return l.n.holder == l, nil
}

func (l *memoryLease) Release(context.Context) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.n.holder == l {
		l.n.holder = nil
	}
	return nil
}

// Holder implements Holder.
func (l *memoryLease) Holder(context.Context) string {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.n.holder == nil {
		return ""
	}
	return l.n.holder.owner
}

func (l *memoryLease) Until() time.Time {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.n.holder != l {
		return time.Time{}
	}
	return Forever
}

func (l *memoryLease) Load(ctx context.Context) ([]byte, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.readyLocked(ctx, true); err != nil {
		return nil, err
	}
	return bytes.Clone(l.n.record), nil
}

func (l *memoryLease) Save(ctx context.Context, record []byte) error {
	if err := CheckRecord(record); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.readyLocked(ctx, true); err != nil {
		return err
	}
	l.n.record = append([]byte{}, record...)
	return nil
}

func (l *memoryLease) Close() error {
	_ = l.Release(context.Background())
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.closed = true
	return nil
}
