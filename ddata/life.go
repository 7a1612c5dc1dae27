package ddata

import (
	"sync"
	"sync/atomic"
)

// life is how far a node is:
//
//	starting ──becomeUp──► up ──beginEnd──► ending ──becomeEnded──► ended
//	    └──────────────────────beginEnd────────┘
type life struct {
	once    sync.Once
	up      chan struct{} // closed when the node is Up, with its data and its lease
	built   chan struct{} // closed when start has built the node, or given up: not before is it released
	ending  chan struct{} // closed when it begins to end
	done    chan struct{} // closed when the node has ended
	leaving atomic.Bool

	mu     sync.Mutex
	reason error       // why it ends, nil while it runs; guarded by mu
	over   atomic.Bool // reason is set: for goroutines that read without the lock
}

func newLife() *life {
	return &life{
		up: make(chan struct{}), built: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
}

func (l *life) becomeUp() { l.once.Do(func() { close(l.up) }) }

func (l *life) becomeBuilt() { close(l.built) }

// beginEnd begins the end, and reports false if it has begun already. cut runs before anything
// hears of the end, and before another beginEnd returns.
func (l *life) beginEnd(reason error, cut func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return false
	}
	l.reason = reason
	l.over.Store(true)
	cut()
	close(l.ending)
	return true
}

func (l *life) becomeEnded() { close(l.done) }

// why says why the node is ending, or has ended; nil while it runs.
func (l *life) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}
