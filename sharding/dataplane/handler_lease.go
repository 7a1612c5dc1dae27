package dataplane

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
)

// HandlerLease is the node's lease as handlers see it. Their contexts end with it, and an entity
// that has no lease for its next message waits here for its return.
type HandlerLease struct {
	Node host.Lease
	pool *pool            // runs the entities that go on
	look *scheduler.Alarm // for the return, while an entity waits

	mu        sync.Mutex
	current   *leaseContext // of the present holding; nil: no handler has asked for it
	suspended []*Entity
}

// Holds reads the clock: may this node act at this moment?
func (l *HandlerLease) Holds() bool { return l.Node.Holds() }

// suspend keeps an entity until the lease returns. It may have returned already.
func (l *HandlerLease) suspend(e *Entity) {
	l.mu.Lock()
	l.suspended = append(l.suspended, e)
	l.mu.Unlock()
	if l.Node.Holds() {
		l.Resume()
	} else {
		l.look.Arm()
	}
}

// leaseEvery is the time between two looks for the return of the lease. One that lapses for a
// moment, and is renewed before the node has looked, ends and returns without a word: only Holds has
// said so.
const leaseEvery = 10 * time.Millisecond

// lookAgain is called while an entity waits for the return of the lease.
func (l *HandlerLease) lookAgain() {
	if l.Holds() {
		l.Resume()
	} else if l.suspends() {
		l.look.Arm()
	}
}

// suspends reports whether an entity waits for the lease.
func (l *HandlerLease) suspends() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.suspended) > 0
}

// Resume lets the entities go on that wait for the lease.
func (l *HandlerLease) Resume() {
	l.mu.Lock()
	all := l.suspended
	l.suspended = nil
	l.mu.Unlock()
	for _, e := range all {
		if e.Release(mailbox.ForLease) {
			l.pool.submit(e)
		}
	}
}

// Changed cancels the contexts of handlers when the lease is lost, and lets entities go on
// when it is back.
func (l *HandlerLease) Changed(held bool) {
	if held {
		l.Resume()
		return
	}
	l.End(failure.ErrNoLease)
}

// End cancels the contexts of handlers that run under the lease.
func (l *HandlerLease) End(cause error) {
	l.mu.Lock()
	ended := l.current
	l.current = nil
	l.mu.Unlock()
	if ended != nil {
		ended.cancel(cause)
	}
}

// leaseContext is the context of everything that runs under one holding of the lease.
type leaseContext struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// context is the parent of the contexts of handlers.
func (l *HandlerLease) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		if !l.Node.Holds() {
			cancel(failure.ErrNoLease)
			return ctx
		}
		l.current = &leaseContext{ctx, cancel}
	}
	return l.current.ctx
}
