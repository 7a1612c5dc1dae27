package lease

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Node is the node's lease as handlers see it. Their contexts end with it, and an entity
// that has no lease for its next message waits here for its return.
type Node struct {
	host host.Lease
	look *scheduler.Alarm // for the return, while an entity waits

	mu        sync.Mutex
	current   *holding // of the present holding; nil: no handler has asked for it
	suspended []Suspended
}

// Suspended is an entity that waits for the return of the lease.
type Suspended interface {
	// LeaseReturned lets it go on. It does not wait.
	LeaseReturned()
}

// NewNode makes what handlers see of the lease of a node.
func NewNode(h host.Lease, c scheduler.Clock) *Node {
	l := &Node{host: h}
	l.look = scheduler.NewAlarm(c, lookEvery, l.lookAgain)
	return l
}

// Stop ends the look for the return of the lease.
func (l *Node) Stop() { l.look.Stop() }

// Holds reads the clock: may this node act at this moment?
func (l *Node) Holds() bool { return l.host.Holds() }

// Suspend keeps an entity until the lease returns. It may have returned already.
func (l *Node) Suspend(e Suspended) {
	l.mu.Lock()
	l.suspended = append(l.suspended, e)
	l.mu.Unlock()
	if l.host.Holds() {
		l.Resume()
	} else {
		l.look.Arm()
	}
}

// lookEvery is the time between two looks for the return of the lease. One that lapses for a
// moment, and is renewed before the node has looked, ends and returns without a word: only Holds has
// said so.
const lookEvery = 10 * time.Millisecond

// lookAgain is called while an entity waits for the return of the lease.
func (l *Node) lookAgain() {
	if l.Holds() {
		l.Resume()
	} else if l.suspends() {
		l.look.Arm()
	}
}

// suspends reports whether an entity waits for the lease.
func (l *Node) suspends() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.suspended) > 0
}

// Resume lets the entities go on that wait for the lease.
func (l *Node) Resume() {
	l.mu.Lock()
	all := l.suspended
	l.suspended = nil
	l.mu.Unlock()
	for _, e := range all {
		e.LeaseReturned()
	}
}

// Changed cancels the contexts of handlers when the lease is lost, and lets entities go on
// when it is back.
func (l *Node) Changed(held bool) {
	if held {
		l.Resume()
		return
	}
	l.End(failure.ErrNoLease)
}

// End cancels the contexts of handlers that run under the lease.
func (l *Node) End(cause error) {
	l.mu.Lock()
	ended := l.current
	l.current = nil
	l.mu.Unlock()
	if ended != nil {
		ended.cancel(cause)
	}
}

// holding is the context of everything that runs under one holding of the lease.
type holding struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Context is the parent of the contexts of handlers.
func (l *Node) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		if !l.host.Holds() {
			cancel(failure.ErrNoLease)
			return ctx
		}
		l.current = &holding{ctx, cancel}
	}
	return l.current.ctx
}
