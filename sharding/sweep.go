package sharding

import (
	"sync"
	"sync/atomic"
	"time"
)

// sweeper does what is due now and then: it ends questions beyond their deadline, and passivates idle entities. Its timers run only
// while there is something to look at.
type sweeper struct {
	r         *core
	idleAfter time.Duration // 0: never
	shards    func() []*shard

	askArmed atomic.Bool

	mu      sync.Mutex
	stopped bool
	askT    *time.Timer
	idleT   *time.Timer
}

const (
	askSweep  = 50 * time.Millisecond
	idleSlots = 4 // an entity is passivated between 1 and 1 + 1/idleSlots times the configured idle time after its last message
)

func (w *sweeper) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idleAfter > 0 {
		w.idleT = time.AfterFunc(w.idleAfter/idleSlots, w.idle)
	}
}

// arm has the questions swept from now on.
func (w *sweeper) arm() {
	if w.askArmed.Load() || !w.askArmed.CompareAndSwap(false, true) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.askT == nil {
		w.askT = time.AfterFunc(askSweep, w.asks)
		return
	}
	w.askT.Reset(askSweep)
}

func (w *sweeper) asks() {
	w.askArmed.Store(false)
	if w.r.asks.sweep(w.r.clock(), nil) {
		w.arm()
	}
}

func (w *sweeper) idle() {
	tick := w.r.tick.Add(1)
	for _, s := range w.shards() {
		s.passivateIdle(tick)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.idleT.Reset(w.idleAfter / idleSlots)
	}
}

func (w *sweeper) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.askT != nil {
		w.askT.Stop()
	}
	if w.idleT != nil {
		w.idleT.Stop()
	}
}

// passivateIdle passivates what has not handled a message for long enough.
func (s *shard) passivateIdle(tick uint32) {
	var idle []string
	s.mu.RLock()
	for _, e := range s.entities {
		if tick-e.seen.Load() > idleSlots && e.isIdle() {
			idle = append(idle, e.id)
		}
	}
	s.mu.RUnlock()
	for _, id := range idle {
		s.region.passivate(s, id)
	}
}
