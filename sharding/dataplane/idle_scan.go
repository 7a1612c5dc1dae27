package dataplane

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// idleScan does what is due now and then: it ends questions beyond their deadline, lets entities go
// on when the lease is back, passivates idle ones, and looks for handlers that do not return. Its
// timers run only while there is something to look at.
type idleScan struct {
	asks      *asks
	lease     *HandlerLease
	slow      *slowWatch
	scheduler scheduler.Scheduler
	clock     func() time.Duration // of the region
	Interval  time.Duration        // of the looks for idle entities; 0: never
	Tick      atomic.Uint32        // counts the looks for idle entities
	idleTicks uint32               // an entity that saw no message for more intervals is idle
	Shards    func() []*Shard

	askArmed, leaseArmed atomic.Bool

	mu                         sync.Mutex
	stopped                    bool
	askT, leaseT, idleT, slowT scheduler.Timer // nil: not made yet
}

const (
	askSweep   = 50 * time.Millisecond
	leaseSweep = 10 * time.Millisecond
)

func (w *idleScan) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Interval > 0 {
		w.idleT = w.scheduler.AfterFunc(w.Interval, w.idle)
	}
	if every := w.slow.every; every > 0 {
		w.slowT = w.scheduler.AfterFunc(every, w.handlers)
	}
}

// arm has the questions swept from now on.
func (w *idleScan) arm() { w.once(&w.askArmed, &w.askT, askSweep, w.questions) }

// awaitLease looks for the return of the lease from now on. One that lapses for a moment, and is
// renewed before the node has looked, ends and returns without a word: only Holds has said so.
func (w *idleScan) awaitLease() { w.once(&w.leaseArmed, &w.leaseT, leaseSweep, w.held) }

// once has fn called after d, unless it is about to be.
func (w *idleScan) once(armed *atomic.Bool, t *scheduler.Timer, d time.Duration, fn func()) {
	if armed.Load() || !armed.CompareAndSwap(false, true) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopped:
	case *t == nil:
		*t = w.scheduler.AfterFunc(d, fn)
	default:
		(*t).Reset(d)
	}
}

func (w *idleScan) questions() {
	w.askArmed.Store(false)
	if w.asks.Sweep(w.clock(), nil) {
		w.arm()
	}
}

func (w *idleScan) held() {
	w.leaseArmed.Store(false)
	if w.lease.Holds() {
		w.lease.Resume()
	} else if w.lease.suspends() {
		w.awaitLease()
	}
}

func (w *idleScan) idle() {
	tick := w.Tick.Add(1)
	for _, s := range w.Shards() {
		s.passivateIdle(tick, w.idleTicks)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.idleT.Reset(w.Interval)
	}
}

func (w *idleScan) handlers() {
	w.slow.scan()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.slowT.Reset(w.slow.every)
	}
}

func (w *idleScan) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, t := range [...]scheduler.Timer{w.askT, w.leaseT, w.idleT, w.slowT} {
		if t != nil {
			t.Stop()
		}
	}
}

// idleBy has entities passivated that saw no message for the time-out, or at most an interval
// longer.
func (w *idleScan) idleBy(s passivation.Strategy) {
	if s.IdleTimeout > 0 {
		w.Interval, w.idleTicks = s.IdleInterval, uint32((s.IdleTimeout+s.IdleInterval-1)/s.IdleInterval)
	}
}

// passivateIdle passivates what has not handled a message for long enough.
func (s *Shard) passivateIdle(tick, most uint32) {
	var idle []string
	s.Mu.RLock()
	for e := range s.Entities.all() {
		if tick-e.Seen.Load() > most && e.isIdle() {
			idle = append(idle, e.ID)
		}
	}
	s.Mu.RUnlock()
	for _, id := range idle {
		s.region.Passivate(s, id, protocol.CauseIdle)
	}
}
