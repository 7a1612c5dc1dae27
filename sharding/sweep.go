package sharding

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// sweeper does what is due now and then: it ends questions beyond their deadline, and passivates idle entities. Its timers run only
// while there is something to look at.
type sweeper struct {
	r         *core
	interval  time.Duration // of the looks for idle entities; 0: never
	idleTicks uint32        // an entity that saw no message for more intervals is idle
	shards    func() []*shard

	askArmed atomic.Bool

	mu      sync.Mutex
	stopped bool
	askT    *time.Timer
	idleT   *time.Timer
}

const askSweep = 50 * time.Millisecond

func (w *sweeper) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.interval > 0 {
		w.idleT = time.AfterFunc(w.interval, w.idle)
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
		s.passivateIdle(tick, w.idleTicks)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.idleT.Reset(w.interval)
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

// idleBy has entities passivated that saw no message for the time-out, or at most an interval longer.
func (w *sweeper) idleBy(s passivation.Strategy) {
	if s.IdleTimeout > 0 {
		w.interval, w.idleTicks = s.IdleInterval, uint32((s.IdleTimeout+s.IdleInterval-1)/s.IdleInterval)
	}
}

// passivateIdle passivates what has not handled a message for long enough.
func (s *shard) passivateIdle(tick, most uint32) {
	var idle []string
	s.mu.RLock()
	for _, e := range s.entities {
		if tick-e.seen.Load() > most && e.isIdle() {
			idle = append(idle, e.id)
		}
	}
	s.mu.RUnlock()
	for _, id := range idle {
		s.region.passivate(s, id, protocol.CauseIdle)
	}
}
