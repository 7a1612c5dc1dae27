package routine

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// World is a queue of events in virtual time, for tests of components that need no more of a
// simulator.
type World struct {
	now    time.Time
	rng    *rand.Rand
	events eventHeap
	soon   int // of these, those that Soon has made
	made   uint64
	procs  []*Process
}

// NewWorld makes a world in which nothing happens yet. The seed decides what comes first of what
// may come in any order.
func NewWorld(seed uint64) *World {
	return &World{now: time.Unix(1_800_000_000, 0).UTC(), rng: rand.New(rand.NewPCG(seed, 0))}
}

// NewProcess adds a process, whose clock is that of the world.
func (w *World) NewProcess() *Process {
	p := NewProcess(w)
	w.procs = append(w.procs, p)
	return p
}

// End kills all processes. A routine that waits would be kept by the real process otherwise.
func (w *World) End() {
	for _, p := range w.procs {
		p.Kill()
	}
}

var _ Timeline = (*World)(nil)

// Now implements Timeline: it is the virtual time.
func (w *World) Now() time.Time { return w.now }

// At implements Timeline.
func (w *World) At(due time.Time, fn func()) { w.add(event{at: due, fn: fn}) }

func (w *World) add(e event) {
	w.made++
	e.number = w.made
	heap.Push(&w.events, e)
}

// Soon implements Timeline.
func (w *World) Soon(fn func()) {
	const least, most = 500 * time.Nanosecond, 50 * time.Microsecond
	w.soon++
	w.add(event{at: w.now.Add(least + time.Duration(w.rng.Int64N(int64(most-least)))), fn: fn, soon: true})
}

// Uint64 implements Timeline.
func (w *World) Uint64() uint64 { return w.rng.Uint64() }

// Step lets the next event happen. It reports false if there is none.
func (w *World) Step() bool {
	if len(w.events) == 0 {
		return false
	}
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	if e.soon {
		w.soon--
	}
	e.fn()
	return true
}

// Run lets everything happen that is due within d.
func (w *World) Run(d time.Duration) {
	end := w.now.Add(d)
	for len(w.events) > 0 && !w.events[0].at.After(end) {
		w.Step()
	}
	w.now = end
}

// Settle lets everything happen that waits for no time: routines that can go on, and those that they
// start or wake. The moments that they take pass.
func (w *World) Settle() {
	for w.soon > 0 {
		w.Step()
	}
}

// event is one thing that will happen.
type event struct {
	at     time.Time
	number uint64 // of two at one time, the first that was made comes first
	fn     func()
	soon   bool // it was made by Soon
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].number < h[j].number
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}
