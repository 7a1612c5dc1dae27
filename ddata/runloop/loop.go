package runloop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// Machine is what a Loop runs. Its methods are called by the Loop's goroutine only.
type Machine[I any] interface {
	// Step hands the machine one input and carries out the effects.
	Step(now time.Time, in I)
	// Flush is called after each batch of steps, before the Loop waits again: the place for what is
	// cheaper once per batch than once per step.
	Flush()
	// Deadline is when the machine wants to be stepped with Tick at the latest; the zero time means
	// never.
	Deadline() time.Time
	// Tick is the input for a deadline that has come.
	Tick() I
}

// Loop owns one machine. Its methods are safe for concurrent use.
//
// It is an interface, because what has one is read by the compiler for each package that uses it, and of a struct all
// methods would be compiled for each.
type Loop[I any] interface {
	// WhenBroken has fn called when a step panics, on the Loop's goroutine, when nothing can be posted
	// any more. Nothing is stepped after it: the state of a machine that broke its own rules is worth
	// nothing. Without it a panic ends the process. It is called before Start.
	WhenBroken(fn func(Broken))
	// Start begins with a Tick and then steps what is posted. It is called once, and Stop only after
	// it.
	Start()
	// Post puts an input into the inbox. It returns false, and drops the input, when the inbox is full
	// or the Loop has stopped. The caller should then push back on its own caller.
	Post(in I) bool
	// Force puts an input into the inbox however full it is: for completions, and for peers' messages
	// that the caller has bounded. It returns false only when the Loop has stopped.
	Force(in I) bool
	// Stop ends the Loop and waits for its goroutine. It must not be called from within a Step.
	Stop()
	// Stopped is closed when the Loop's goroutine has ended.
	Stopped() <-chan struct{}
	// Rest returns what was posted and never stepped. A machine that must answer everything may call it
	// after Stop.
	Rest() []I
	// Busy is for how long the Loop has been at a few steps without an end: long, when one of them
	// waits for something, or never returns.
	Busy(now time.Time) time.Duration
}

type loop[I any] struct {
	s     scheduler.Scheduler
	m     Machine[I]
	limit int

	mu      sync.Mutex
	inbox   []I
	stopped bool

	wake chan struct{} // capacity 1: something waits in the inbox, the timer has fired, or the Loop shall stop
	done chan struct{}

	turning atomic.Int64 // when the loop last took up work, in Unix nanoseconds; 0: it waits for some

	timer scheduler.Timer // nil: not made yet
	armed time.Time       // when the timer fires; zero: it does not

	broken func(Broken) // nil: a panic ends the process
	work   []I          // of the batch, what was not taken up
	over   bool         // turn has returned
}

// New makes a Loop around m, which s runs. At most limit inputs wait in the inbox for callers of Post; Force has
// no limit. Nothing is stepped before Start, so that m's owner can store the Loop first.
func New[I any](s scheduler.Scheduler, m Machine[I], limit int) Loop[I] {
	return &loop[I]{
		s: s, m: m, limit: limit,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

func (l *loop[I]) Start() { l.s.Go(l.run) }

func (l *loop[I]) Post(in I) bool { return l.put(in, l.limit) }

func (l *loop[I]) Force(in I) bool { return l.put(in, int(^uint(0)>>1)) }

func (l *loop[I]) put(in I, limit int) bool {
	l.mu.Lock()
	if l.stopped || len(l.inbox) >= limit {
		l.mu.Unlock()
		return false
	}
	l.inbox = append(l.inbox, in)
	first := len(l.inbox) == 1
	l.mu.Unlock()
	if first {
		l.signal()
	}
	return true
}

func (l *loop[I]) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop[I]) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.signal()
	l.s.Await(l.done, nil, nil)
}

func (l *loop[I]) Rest() []I {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.inbox
	l.inbox = nil
	return rest
}

func (l *loop[I]) Busy(now time.Time) time.Duration {
	since := l.turning.Load()
	if since == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, since)))
}

func (l *loop[I]) Stopped() <-chan struct{} { return l.done }

func (l *loop[I]) run() {
	defer close(l.done)
	defer l.disarm()
	if l.broken != nil {
		defer l.catch()
	}
	l.turn()
}

// turn steps until the Loop is stopped.
func (l *loop[I]) turn() {
	l.m.Step(l.s.Now(), l.m.Tick())
	var spare []I
	for {
		l.m.Flush()
		l.arm()
		l.turning.Store(0)
		l.s.Await(l.wake, nil, nil)
		l.turning.Store(l.s.Now().UnixNano())
		work, stopped := l.take(spare)
		if stopped {
			l.over = true
			return
		}
		spare = l.batch(work)
	}
}

// take empties the inbox, with a slice for what comes next.
func (l *loop[I]) take(spare []I) (work []I, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return nil, true
	}
	work = l.inbox
	l.inbox = spare[:0]
	return work, false
}

// stepsPerLook is how many steps are made with one look at the clock, which costs as much as a
// small step.
const stepsPerLook = 16

// batch steps everything that was taken, and a Tick if the timer has fired for one that is due. It
// returns the emptied slice for the next swap.
func (l *loop[I]) batch(work []I) []I {
	now := l.s.Now()
	for i, in := range work {
		l.work = work[i+1:]
		if i > 0 && i%stepsPerLook == 0 {
			now = l.s.Now()
			l.turning.Store(now.UnixNano())
		}
		l.m.Step(now, in)
	}
	l.work = nil
	if !l.armed.IsZero() && !now.Before(l.armed) {
		l.tick(now)
	}
	clear(work)
	const keep = 4096 // a burst's slice is not kept permanently
	if cap(work) > keep {
		return nil
	}
	return work
}

func (l *loop[I]) tick(now time.Time) {
	if d := l.m.Deadline(); !d.IsZero() && !now.Before(d) {
		l.m.Step(now, l.m.Tick())
	}
}

// arm sees that the timer fires at the deadline, or before: then it finds nothing due and is armed
// anew. So it is left alone as long as deadlines only move on, which is the usual case.
func (l *loop[I]) arm() {
	d := l.m.Deadline()
	now := l.s.Now()
	if !l.armed.IsZero() && !now.Before(l.armed) {
		l.armed = time.Time{} // it has fired
	}
	if d.IsZero() || !l.armed.IsZero() && !d.Before(l.armed) {
		return
	}
	l.armed = d
	if l.timer == nil {
		l.timer = l.s.AfterFunc(max(0, d.Sub(now)), l.signal)
	} else {
		l.timer.Reset(max(0, d.Sub(now)))
	}
}

// disarm stops the timer.
func (l *loop[I]) disarm() {
	if l.timer != nil {
		l.timer.Stop()
	}
}
