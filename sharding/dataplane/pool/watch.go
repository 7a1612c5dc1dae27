package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// Watch finds handlers that do not return. It looks at the workers of the pool every so often: one
// that is in the same slice as at the look before, and has begun no message since, is in the same
// handler. So a message costs a worker no look at the clock.
type Watch[T Task[T]] struct {
	pool  *Pool[T]
	clock scheduler.Clock
	began time.Time // of this watch
	slow  WatchSettings[T]
	alarm *scheduler.Alarm // for the next look; nil: none

	now atomic.Int64 // handlers that run for longer than slow.After

	mu      sync.Mutex
	sighted map[*worker[T]]sighting[T]
	told    map[*worker[T]]string // where a handler stands that was told of
}

// WatchSettings say what is told of handlers that do not return.
type WatchSettings[T Task[T]] struct {
	After time.Duration             // the age of a handler from which on it is told of; negative: none is
	Note  func(SlowTask[T])         // is told; it does not wait
	Where func(stack string) string // finds the handler in the stack of a worker
}

// SlowTask is a task whose handler does not return.
type SlowTask[T any] struct {
	Task  T
	Age   time.Duration // of its handler
	Where string        // it stands
	Stack string        // of its worker
}

// sighting is what a look has seen of a worker.
type sighting[T Task[T]] struct {
	at    busyWorker[T]
	since time.Duration // on the watch's clock: the first look that has seen the same
	told  time.Duration // the age at which it was told of; 0: not yet
}

// NewWatch makes a watch over the workers of a pool. It looks from Start on.
func NewWatch[T Task[T]](p *Pool[T], c scheduler.Clock, t WatchSettings[T]) *Watch[T] {
	w := &Watch[T]{pool: p, clock: c, began: c.Now(), slow: t, told: map[*worker[T]]string{}}
	if t.After > 0 {
		w.alarm = scheduler.NewAlarm(c, max(SlowLeast, t.After/slowLooks), func() {
			w.scan()
			w.alarm.Arm()
		})
	}
	return w
}

const (
	slowLooks = 4 // in the time after which a handler is told of
	slowTold  = 8 // handlers that one look tells of, at most
	// SlowLeast is the least time between two looks.
	SlowLeast = time.Millisecond
)

// Start begins to look.
func (w *Watch[T]) Start() {
	if w.alarm != nil {
		w.alarm.Arm()
	}
}

// Stop ends the looks.
func (w *Watch[T]) Stop() {
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// busyWorker is a worker within a slice.
type busyWorker[T Task[T]] struct {
	w         *worker[T]
	goroutine string
	task      T
	slice     uint64
	begun     uint32 // the look after which it has begun its latest message
}

// busy lists the workers that are within a slice, in the order in which they were made.
func (p *Pool[T]) busy() (all []busyWorker[T]) {
	var none T
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.alive { // order: sorted below
		if w.at != none {
			all = append(all, busyWorker[T]{w, w.goroutine, w.at, w.slices, w.begun.Load()})
		}
	}
	slices.SortFunc(all, func(a, b busyWorker[T]) int { return cmp.Compare(a.w.number, b.w.number) })
	return all
}

// scan looks once.
func (w *Watch[T]) scan() {
	now := w.age()
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := w.pool.busy()
	sighted, slow := make(map[*worker[T]]sighting[T], len(busy)), 0
	var due []busyWorker[T]
	for _, b := range busy {
		s, same := w.sighted[b.w]
		if !same || s.at != b {
			s = sighting[T]{at: b, since: now}
			delete(w.told, b.w)
		}
		age := now - s.since
		if age >= w.slow.After {
			slow++
			if age >= 2*s.told && len(due) < slowTold {
				s.told = age
				due = append(due, b)
			}
		}
		sighted[b.w] = s
	}
	for gone := range w.told { // order: each is judged by itself
		if _, is := sighted[gone]; !is {
			delete(w.told, gone)
		}
	}
	w.sighted = sighted
	w.now.Store(int64(slow))
	w.pool.looks.Add(1)
	if len(due) > 0 {
		w.tell(due)
	}
}

// tell tells of handlers that do not return: the first time, and whenever their age has doubled.
func (w *Watch[T]) tell(due []busyWorker[T]) {
	all := allStacks()
	for _, b := range due {
		stack := stackOf(all, b.goroutine)
		where := w.slow.Where(stack)
		w.told[b.w] = where
		w.slow.Note(SlowTask[T]{Task: b.task, Age: w.sighted[b.w].told, Where: where, Stack: stack})
	}
}

// Slow is how many handlers run for longer than the settings want.
func (w *Watch[T]) Slow() int { return int(w.now.Load()) }

// Running says for how long a handler of the task has run, and where it stands if that was told of.
// It is empty if none runs.
func (w *Watch[T]) Running(task T) string {
	for _, b := range w.pool.busy() {
		if b.task == task {
			return w.describe(b)
		}
	}
	return ""
}

// age is the time since the watch was made.
func (w *Watch[T]) age() time.Duration { return w.clock.Since(w.began) }

func (w *Watch[T]) describe(b busyWorker[T]) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "a handler of it runs"
	if s, ok := w.sighted[b.w]; ok && s.at == b {
		text = fmt.Sprintf("a handler of it has run for %v", (w.age() - s.since).Round(time.Millisecond))
	}
	if where := w.told[b.w]; where != "" {
		text += " in " + where
	}
	return text
}

// AllRunning names tasks whose handlers run, a few of them.
func (w *Watch[T]) AllRunning() string {
	const most = 3
	var names []string
	busy := w.pool.busy()
	for _, b := range busy[:min(len(busy), most)] {
		names = append(names, fmt.Sprintf("%v: %s", b.task, w.describe(b)))
	}
	if n := len(busy) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, "; ")
}
