package batch

import (
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// request is the Value of an Op.
type request interface {
	// finish calls the caller's done, once.
	finish(err error)
	// base is what all requests have.
	base() *common
}

// common is what all requests have.
type common struct {
	op    calls.Op
	place int // in Client.open
}

func (r *common) base() *common { return r }

type write struct {
	common
	write persistence.Write
	done  func(error)
}

type stateWrite struct {
	common
	write persistence.StateWrite
	done  func(error)
}

type snapshot struct {
	common
	snapshot persistence.Snapshot
	done     func(error)
}

type deletion struct {
	common
	id   protocol.EntityID
	upTo uint64
	done func(error)
}

func (r *write) finish(err error)      { r.done(err) }
func (r *stateWrite) finish(err error) { r.done(err) }
func (r *snapshot) finish(err error)   { r.done(err) }
func (r *deletion) finish(err error)   { r.done(err) }

// load is a load of events, of a snapshot or of a state.
//
// A call that hangs may still call each when the load was given up. So each and done exclude one
// another: the one that comes second waits for nothing, but leaves the end to the first.
type load[T any] struct {
	common
	id    protocol.EntityID
	each  func(T) error
	done  func(error)
	after uint64          // Read.After, of what comes next, or SnapshotRead.Below
	end   persistence.End // of a Load that has succeeded

	mu     sync.Mutex
	busy   bool // each runs
	over   bool // done was called, or is when each has returned
	ending error
	came   bool  // each was called
	failed error // by each
}

// take calls each, unless the load is over or each has failed.
func (l *load[T]) take(v T) {
	if !l.enter() {
		return
	}
	var err error
	defer func() { l.leave(err) }()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("persistence: what was loaded made its entity panic: %w", failure.OfRecovered(p))
		}
	}()
	err = l.each(v)
}

func (l *load[T]) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.failed != nil {
		return false
	}
	l.busy, l.came = true, true
	return true
}

func (l *load[T]) leave(err error) {
	l.mu.Lock()
	l.busy, l.failed = false, err
	over, ending := l.over, l.ending
	l.mu.Unlock()
	if over {
		l.done(ending)
	}
}

func (l *load[T]) finish(err error) {
	l.mu.Lock()
	l.over, l.ending = true, err
	busy := l.busy
	l.mu.Unlock()
	if !busy {
		l.done(err)
	}
}

// state returns whether each was called, and with which error.
func (l *load[T]) state() (came bool, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came, l.failed
}

// ends notes where the history ends, unless the load was given up: then the caller has its answer.
func (l *load[T]) ends(e persistence.End) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.end = e
	}
}
