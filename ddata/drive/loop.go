package drive

import (
	"sync"
	"time"
)

// Machine is what a Loop runs. Its methods are called by the Loop's goroutine only.
type Machine[I any] interface {
	// Step hands the machine one input and carries out the effects.
	Step(now time.Time, in I)
	// Flush is called after each batch of steps, before the Loop waits again: the place for what is cheaper once
	// per batch than once per step.
	Flush()
	// Deadline is when the machine wants to be stepped with Tick at the latest; the zero time means never.
	Deadline() time.Time
	// Tick is the input for a deadline that has come.
	Tick() I
}

// Loop owns one machine. Its methods are safe for concurrent use.
type Loop[I any] struct {
	m     Machine[I]
	limit int

	mu      sync.Mutex
	inbox   []I
	stopped bool

	wake chan struct{} // capacity 1: something waits in the inbox
	stop chan struct{}
	done chan struct{}
}

// New makes a Loop around m. At most limit inputs wait in the inbox for those who Post; Force has no limit. Nothing is stepped
// before Start, so that m's owner can store the Loop first.
func New[I any](m Machine[I], limit int) *Loop[I] {
	return &Loop[I]{
		m: m, limit: limit,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// Start begins with a Tick and then steps what is posted. It is called once, and Stop only after it.
func (l *Loop[I]) Start() { go l.run() }

// Post puts an input into the inbox. It answers false, and drops the input, when the inbox is full or the Loop has
// stopped: the caller's sign to push back on whoever asked.
func (l *Loop[I]) Post(in I) bool { return l.put(in, l.limit) }

// Force puts an input into the inbox however full it is: for completions and peers' messages whose number is bounded
// elsewhere. It answers false only when the Loop has stopped.
func (l *Loop[I]) Force(in I) bool { return l.put(in, int(^uint(0)>>1)) }

func (l *Loop[I]) put(in I, limit int) bool {
	l.mu.Lock()
	if l.stopped || len(l.inbox) >= limit {
		l.mu.Unlock()
		return false
	}
	l.inbox = append(l.inbox, in)
	first := len(l.inbox) == 1
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// Stop ends the Loop and waits for its goroutine. It must not be called from within a Step.
func (l *Loop[I]) Stop() {
	l.mu.Lock()
	first := !l.stopped
	l.stopped = true
	l.mu.Unlock()
	if first {
		close(l.stop)
	}
	<-l.done
}

// Rest returns what was posted and never stepped. It may be called after Stop, for those who must answer everything.
func (l *Loop[I]) Rest() []I {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.inbox
	l.inbox = nil
	return rest
}

// Stopped is closed when the Loop's goroutine has ended.
func (l *Loop[I]) Stopped() <-chan struct{} { return l.done }

func (l *Loop[I]) run() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	l.m.Step(time.Now(), l.m.Tick())
	var spare []I
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			spare = l.batch(spare)
		case <-timer.C:
			l.tick()
		}
		l.m.Flush()
		arm(timer, l.m.Deadline())
	}
}

// batch steps everything that waits and returns the emptied slice for the next swap.
func (l *Loop[I]) batch(spare []I) []I {
	l.mu.Lock()
	work := l.inbox
	l.inbox = spare[:0]
	l.mu.Unlock()
	for _, in := range work {
		l.m.Step(time.Now(), in)
	}
	clear(work)
	const keep = 4096 // a burst's slice is not kept for ever
	if cap(work) > keep {
		return nil
	}
	return work
}

func (l *Loop[I]) tick() {
	if d := l.m.Deadline(); !d.IsZero() && !time.Now().Before(d) {
		l.m.Step(time.Now(), l.m.Tick())
	}
}

func arm(t *time.Timer, deadline time.Time) {
	if deadline.IsZero() {
		t.Stop()
		return
	}
	t.Reset(max(0, time.Until(deadline)))
}
