package dataplane

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
)

// pool runs entities that have messages. It keeps base workers busy as long as no handler blocks. A
// handler that blocks keeps its worker, so:
//
//   - Ask inside a handler says that it will wait (block), which lets another worker start at once;
//   - what blocks otherwise is seen by the monitor: when entities have been waiting for a whole
//     tick and no worker took one, it adds workers, up to max.
//
// Workers above base end when they find nothing to do.
type pool struct {
	base, max int

	mu         sync.Mutex
	head, tail *Entity // the run queue, linked by entity.next
	alive      map[*worker]struct{}
	parked     []*worker  // waiting for work, the latest last: its cache is warm
	workers    int        // goroutines alive
	made       uint64     // workers, ever
	blocked    int        // of these, those that said so
	searching  int        // of these, those about to look at the queue again without being woken
	taken      uint64     // entities taken off the queue, ever
	seen       uint64     // taken at the monitor's last tick
	defects    defect.Set // planted by a test
	monitoring bool       // the monitor's timer is armed
	closing    bool       // workers end when the queue is empty

	queued    atomic.Int64 // length of the run queue, for readers that do not hold mu
	scheduler scheduler.Scheduler
	monitor   scheduler.Timer
	Ended     *scheduler.Group // the workers
}

// worker is one goroutine of the pool.
type worker struct {
	wake   chan struct{} // capacity 1
	number uint64
	begun  atomic.Uint32 // see slowWatch

	// Under the pool's lock:
	goroutine string  // its ID, as stacks have it
	at        *Entity // that it runs; nil: none
	slices    uint64  // that it has begun
}

const (
	// monitorTick is how long the queue may stand still before workers are added.
	monitorTick = time.Millisecond
	// searchRounds is how often a worker that ran out of work yields and looks again before it
	// parks: parking and waking cost microseconds.
	searchRounds = 32
)

func newPool(base, max int, s scheduler.Scheduler) *pool {
	if base == 0 {
		base = runtime.GOMAXPROCS(0)
	}
	p := &pool{
		base: base, max: max, alive: map[*worker]struct{}{}, scheduler: s, Ended: scheduler.NewGroup(s),
	}
	p.monitor = s.AfterFunc(time.Hour, p.tick)
	p.monitor.Stop()
	return p
}

// submit puts an entity on the run queue. Its mailbox is in phase queued, so it is in the queue
// once at most.
func (p *pool) submit(e *Entity) {
	p.mu.Lock()
	if p.defects.Planted(defect.LostWake) && p.taken%256 == 255 {
		p.taken++
		p.mu.Unlock()
		return
	}
	if p.tail == nil {
		p.head = e
	} else {
		p.tail.next = e
	}
	p.tail = e
	p.queued.Add(1)
	p.startLocked()
	if !p.monitoring {
		p.monitoring, p.seen = true, p.taken
		p.monitor.Reset(monitorTick)
	}
	p.mu.Unlock()
}

// startLocked gets one more worker to look at the queue, unless one is about to or enough are
// awake.
func (p *pool) startLocked() {
	if p.searching > 0 {
		return
	}
	if n := len(p.parked); n > 0 {
		w := p.parked[n-1]
		p.parked = p.parked[:n-1]
		p.searching++
		w.wake <- struct{}{}
		return
	}
	if p.workers-p.blocked < p.base && p.workers < p.max {
		p.spawnLocked()
	}
}

func (p *pool) spawnLocked() {
	p.workers++
	p.searching++
	p.made++
	w := &worker{wake: make(chan struct{}, 1), number: p.made}
	p.alive[w] = struct{}{}
	p.Ended.Go(func() { p.work(w) })
}

// work is a worker's life. It starts and wakes as a searcher.
func (p *pool) work(w *worker) {
	searching, retired := true, false
	id := goroutineID()
	defer func() {
		p.mu.Lock()
		delete(p.alive, w)
		if !retired { // a handler has ended the goroutine
			p.workers--
		}
		p.mu.Unlock()
	}()
	for {
		p.mu.Lock()
		w.at, w.goroutine = nil, id
		if searching {
			p.searching--
		}
		e := p.head
		if e == nil {
			if retired = p.retireLocked(w, searching); retired {
				return
			}
			searching = true
			continue
		}
		p.head = e.next
		if p.head == nil {
			p.tail = nil
		}
		e.next = nil
		p.taken++
		w.at = e
		w.slices++
		if p.queued.Add(-1) > 0 {
			p.startLocked()
		}
		p.mu.Unlock()
		searching = false
		e.run(p, w)
	}
}

// retireLocked searches a while if no other worker does, else parks, or ends the worker (true). It
// unlocks; afterwards the worker is counted as searching.
func (p *pool) retireLocked(w *worker, searched bool) (end bool) {
	if p.closing || (searched && len(p.parked) >= p.base) {
		p.workers--
		p.mu.Unlock()
		return true
	}
	if !searched && p.searching == 0 {
		p.searching++
		p.mu.Unlock()
		for range searchRounds {
			p.scheduler.Yield()
			if p.queued.Load() > 0 {
				break
			}
		}
		return false
	}
	p.parked = append(p.parked, w)
	p.mu.Unlock()
	p.scheduler.Await(w.wake, nil, nil)
	return false
}

// tick is the monitor: it adds workers when entities wait and no worker has taken one since the
// last tick.
func (p *pool) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head == nil {
		p.monitoring = false
		return
	}
	if p.taken == p.seen && p.searching == 0 {
		p.addLocked(min(int(p.queued.Load()), max(p.workers, 1)))
	}
	p.seen = p.taken
	p.monitor.Reset(monitorTick)
}

// addLocked wakes or starts n workers, so that their number at most doubles per tick.
func (p *pool) addLocked(n int) {
	for range n {
		if len(p.parked) > 0 {
			p.startLocked()
			return
		}
		if p.workers >= p.max {
			return
		}
		p.spawnLocked()
	}
}

// block says that the calling worker is about to wait for something that may need a worker.
func (p *pool) block() {
	p.mu.Lock()
	p.blocked++
	if p.head != nil {
		p.startLocked()
	}
	p.mu.Unlock()
}

// unblock ends block.
func (p *pool) unblock() {
	p.mu.Lock()
	p.blocked--
	p.mu.Unlock()
}

// Drain lets the workers finish what is queued, until ctx ends, and then ends them. A handler that
// does not return keeps its goroutine, and is the error.
func (p *pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.endLocked()
	p.mu.Unlock()
	if p.scheduler.Await(p.Ended.Over(), ctx.Done(), nil) == 0 {
		return nil
	}
	return fmt.Errorf("sharding: handlers still run: %w", context.Cause(ctx))
}

// endLocked lets parked workers end.
func (p *pool) endLocked() {
	for _, w := range p.parked {
		p.searching++
		w.wake <- struct{}{}
	}
	p.parked = nil
}
