package pool

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

// Task is what a worker runs: one entity with its messages. Its pointer is in the run queue once at
// most.
type Task[T any] interface {
	comparable
	fmt.Stringer
	// Run handles what waits. A handler may end the goroutine within it.
	Run(s *Slice)
}

// Pool runs tasks that have something to do. It keeps base workers busy as long as no handler
// blocks. A handler that blocks keeps its worker, so:
//
//   - Ask inside a handler says that it will wait (Block), which lets another worker start at once;
//   - what blocks otherwise is seen by the monitor: when tasks have been waiting for a whole tick
//     and no worker took one, it adds workers, up to max.
//
// Workers above base end when they find nothing to do.
type Pool[T Task[T]] struct {
	base, max int

	mu         sync.Mutex
	queue      queue[T]
	alive      map[*worker[T]]struct{}
	parked     []*worker[T] // waiting for work, the latest last: its cache is warm
	workers    int          // goroutines alive
	made       uint64       // workers, ever
	blocked    int          // of these, those that said so
	searching  int          // of these, those about to look at the queue again without being woken
	taken      uint64       // tasks taken off the queue, ever
	seen       uint64       // taken at the monitor's last tick
	defects    defect.Set   // planted by a test
	monitoring bool         // the monitor's timer is armed
	closing    bool         // workers end when the queue is empty

	queued    atomic.Int64   // length of the run queue, for readers that do not hold mu
	looks     *atomic.Uint32 // see Watch; apart, because what is beside mu changes with every task
	ticks     atomic.Uint64  // of the monitor
	hasteTill atomic.Uint64  // the tick before which no worker pauses
	scheduler scheduler.Scheduler
	monitor   scheduler.Timer
	ended     *scheduler.Group // the workers
}

// worker is one goroutine of the pool.
type worker[T Task[T]] struct {
	Slice
	wake   chan struct{} // capacity 1
	number uint64

	// Under the pool's lock:
	goroutine string // its ID, as stacks have it
	at        T      // that it runs; nil: none
	slices    uint64 // that it has begun
	before    uint64 // of these, those that it had begun when it was last woken
}

// Slice is what a task sees of its worker: when others have to be run, and a place for what tasks keep.
type Slice struct {
	queued *atomic.Int64  // the pool's
	looks  *atomic.Uint32 // the pool's
	begun  atomic.Uint32  // the look of the watch after which the latest message was begun

	sparse bool // the slice has found few messages; the worker's

	Own any // what the tasks of this worker keep from slice to slice; theirs
}

// Others reports whether other tasks wait for a worker.
func (s *Slice) Others() bool { return s.queued.Load() > 0 }

// Sparse notes that the slice has found few messages although others wait. The worker then lets the goroutines run
// that have more, so that the next slices find several messages each: what a slice costs beside its messages is more
// than one of them does, above all where senders and workers take a mailbox from each other.
func (s *Slice) Sparse() { s.sparse = true }

// Begin notes, for the Watch, that the task begins a message.
func (s *Slice) Begin() {
	if now := s.looks.Load(); now != s.begun.Load() {
		s.begun.Store(now)
	}
}

const (
	// monitorTick is how long the queue may stand still before workers are added.
	monitorTick = time.Millisecond
	// searchRounds is how often a worker that ran out of work yields and looks again before it
	// parks: parking and waking cost microseconds.
	searchRounds = 32
	// loneRounds is that of a worker that has run one slice since it was woken. Its next task comes at
	// once, from a goroutine that waits for what it did, or not soon: each round may wake a thread.
	loneRounds = 2
	// hasteTicks is for how many ticks no worker pauses after a pause that took longer than one: other
	// goroutines then keep the processors, and each pause is a wait for all of them.
	hasteTicks = 1000
)

// New makes a pool of base workers, 0 for GOMAXPROCS, and at most max. It plants what a test wants
// planted.
func New[T Task[T]](base, max int, s scheduler.Scheduler, planted defect.Set) *Pool[T] {
	if base == 0 {
		base = runtime.GOMAXPROCS(0)
	}
	p := &Pool[T]{
		base: base, max: max, alive: map[*worker[T]]struct{}{}, defects: planted, looks: new(atomic.Uint32),
		scheduler: s, ended: scheduler.NewGroup(s),
	}
	p.monitor = s.AfterFunc(time.Hour, p.tick)
	p.monitor.Stop()
	return p
}

// Submit puts a task on the run queue, in which it is not.
func (p *Pool[T]) Submit(e T) {
	p.mu.Lock()
	if p.defects.Planted(defect.LostWake) && p.taken%256 == 255 {
		p.taken++
		p.mu.Unlock()
		return
	}
	p.queue.push(e)
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
func (p *Pool[T]) startLocked() {
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

func (p *Pool[T]) spawnLocked() {
	p.workers++
	p.searching++
	p.made++
	w := &worker[T]{
		Slice: Slice{queued: &p.queued, looks: p.looks}, wake: make(chan struct{}, 1), number: p.made,
	}
	p.alive[w] = struct{}{}
	p.ended.Go(func() { p.work(w) })
}

// work is a worker's life. It starts and wakes as a searcher.
func (p *Pool[T]) work(w *worker[T]) {
	var none T
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
		w.at, w.goroutine = none, id
		if searching {
			p.searching--
		}
		e, ok := p.queue.pop()
		if !ok {
			if retired = p.retireLocked(w, searching); retired {
				return
			}
			searching = true
			continue
		}
		p.taken++
		w.at = e
		w.slices++
		if p.queued.Add(-1) > 0 {
			p.startLocked()
		}
		p.mu.Unlock()
		searching, w.sparse = false, false
		if e.Run(&w.Slice); w.sparse {
			p.pause()
		}
	}
}

// pause lets other goroutines run, unless that has taken long lately.
func (p *Pool[T]) pause() {
	now := p.ticks.Load()
	if now < p.hasteTill.Load() {
		return
	}
	p.scheduler.Yield()
	if p.ticks.Load()-now > 1 {
		p.hasteTill.Store(now + hasteTicks)
	}
}

// retireLocked searches a while if no other worker does, else parks, or ends the worker (true). It
// unlocks; afterwards the worker is counted as searching.
func (p *Pool[T]) retireLocked(w *worker[T], searched bool) (end bool) {
	if p.closing || (searched && len(p.parked) >= p.base) {
		p.workers--
		p.mu.Unlock()
		return true
	}
	if !searched && p.searching == 0 {
		p.searching++
		p.mu.Unlock()
		rounds := searchRounds
		if w.slices-w.before == 1 {
			rounds = loneRounds
		}
		for range rounds {
			p.scheduler.Yield()
			if p.queued.Load() > 0 {
				break
			}
		}
		return false
	}
	w.before = w.slices
	p.parked = append(p.parked, w)
	p.mu.Unlock()
	p.scheduler.Await(w.wake, nil, nil)
	return false
}

// tick is the monitor: it adds workers when tasks wait and no worker has taken one since the
// last tick.
func (p *Pool[T]) tick() {
	p.ticks.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue.isEmpty() {
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
func (p *Pool[T]) addLocked(n int) {
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

// Block says that the calling worker is about to wait for something that may need a worker.
func (p *Pool[T]) Block() {
	p.mu.Lock()
	p.blocked++
	if !p.queue.isEmpty() {
		p.startLocked()
	}
	p.mu.Unlock()
}

// Unblock ends Block.
func (p *Pool[T]) Unblock() {
	p.mu.Lock()
	p.blocked--
	p.mu.Unlock()
}

// Drain lets the workers finish what is queued, until ctx ends, and then ends them. A handler that
// does not return keeps its goroutine, and is the error.
func (p *Pool[T]) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	p.endLocked()
	p.mu.Unlock()
	if p.scheduler.Await(p.ended.Over(), ctx.Done(), nil) == 0 {
		return nil
	}
	return fmt.Errorf("sharding: handlers still run: %w", context.Cause(ctx))
}

// endLocked lets parked workers end.
func (p *Pool[T]) endLocked() {
	for _, w := range p.parked {
		p.searching++
		w.wake <- struct{}{}
	}
	p.parked = nil
}

// Go runs fn on a goroutine of its own, which Drain waits for as it does for a worker.
func (p *Pool[T]) Go(fn func()) { p.ended.Go(fn) }

// Queued is how many tasks wait for a worker.
func (p *Pool[T]) Queued() int { return int(p.queued.Load()) }

// Workers is how many goroutines run tasks or are ready to.
func (p *Pool[T]) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// Each calls fn for the tasks that run and for those that wait, in this order.
func (p *Pool[T]) Each(fn func(T)) {
	for _, b := range p.busy() {
		fn(b.task)
	}
	p.mu.Lock()
	waiting := p.queue.list()
	p.mu.Unlock()
	for _, e := range waiting {
		fn(e)
	}
}
