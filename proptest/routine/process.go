package routine

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// Timeline is where a Process has its events. It drops those of a process that has ended, and keeps
// those of a frozen one back until it goes on.
type Timeline interface {
	// Now reads the clock of the process.
	Now() time.Time
	// At has fn called at a time of that clock, or before it if the clock stands still meanwhile.
	At(due time.Time, fn func())
	// Soon has fn called a moment later: after the time in which a process takes up what has become
	// ready. Several such calls may come in any order.
	Soon(fn func())
	// Uint64 is a random number.
	Uint64() uint64
}

// Process is the Scheduler of one simulated process.
type Process struct {
	line    Timeline
	running *routine   // nil: none of this process runs
	all     []*routine // that are not over
	idle    []*routine // of these, those that run no function now
	parked  []parked   // of these, those that wait for channels, in the order in which they began to
	waits   uint64     // how often a routine has begun to wait
	owed    int        // random numbers that the Timeline has not been asked for yet, see events
	killed  bool
	rung    []*alarm // that are used again
}

var _ scheduler.Scheduler = (*Process)(nil)

// NewProcess makes a process in which nothing runs.
func NewProcess(line Timeline) *Process { return &Process{line: line} }

// routine is a coroutine that runs one function after another.
type routine struct {
	next  func() (struct{}, bool) // runs it until it waits, or its function has returned
	stop  func()
	yield func(struct{}) bool
	goOn  func() // after Look has found something for it

	fn     func() // nil: it is idle
	active bool   // it runs, or it has entered the process anew and waits for that
	got    int    // the place of the channel that had something
	sleep  timer  // ends its sleep
	waits  uint64 // the number of the wait that is its sleep
}

// parked is a routine with the channels that it waits for. They stand side by side, because each event of the
// process looks at all of them.
type parked struct {
	waits [3]<-chan struct{}
	r     *routine
	nth   uint64 // the number of the wait
}

// Enter runs fn as a routine until it waits or returns. Everything that comes to the process from
// outside enters by it. It does nothing in a process that was killed.
func (p *Process) Enter(fn func()) {
	if p.killed {
		return
	}
	var r *routine
	if n := len(p.idle); n > 0 {
		r, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		r = p.newRoutine()
		p.all = append(p.all, r)
	}
	r.fn = fn
	p.resume(r)
}

func (p *Process) newRoutine() *routine {
	r := &routine{}
	r.goOn = func() {
		if !p.killed {
			p.resume(r)
		}
	}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		for {
			r.call()
			r.fn = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return r
}

// call calls the function. A panic passes to the world, with the stack where it came up.
func (r *routine) call() {
	defer func() {
		if v := recover(); v != nil {
			panic(fmt.Sprintf("%v\n\nin a routine:\n%s", v, debug.Stack()))
		}
	}()
	r.fn()
}

// resume runs a routine until it waits or its function has returned, and then looks for others that
// can go on.
func (p *Process) resume(r *routine) {
	before := p.running
	p.running, r.active = r, true
	r.next()
	p.running, r.active = before, false
	switch {
	case p.killed:
		p.end(r)
	case r.fn == nil:
		p.idle = append(p.idle, r)
	}
	if before == nil {
		p.Look()
	}
}

// Look lets routines go on that wait for what an event outside of the process has brought. After an
// event of the process it is not needed.
func (p *Process) Look() { p.look(nil) }

// look is Look, after a routine has slept; nil: none has. That one goes on where its turn is.
func (p *Process) look(slept *routine) {
	kept := 0
	for i := range p.parked {
		k := &p.parked[i]
		if slept != nil && slept.waits < k.nth {
			p.events().Soon(slept.goOn)
			slept = nil
		}
		got := p.receive(&k.waits)
		if got < 0 {
			if kept < i {
				p.parked[kept] = *k
			}
			kept++
			continue
		}
		k.r.got = got
		p.events().Soon(k.r.goOn)
	}
	if slept != nil {
		p.events().Soon(slept.goOn)
	}
	clear(p.parked[kept:])
	p.parked = p.parked[:kept]
}

// receive takes something from one of the channels, and returns its place; -1: none has anything.
// Of several that have something any may be the one.
func (p *Process) receive(from *[3]<-chan struct{}) int {
	if from[1] == nil && from[2] == nil { // as most do
		select {
		case <-from[0]:
			return 0
		default:
			return -1
		}
	}
	p.owed++ // whether anything is there or not: the same story has the same numbers
	if !isReady(from[0]) && !isReady(from[1]) && !isReady(from[2]) {
		return -1
	}
	p.owed--
	for at := int(p.events().Uint64() % 3); ; at = (at + 1) % 3 {
		if isReady(from[at]) {
			select {
			case <-from[at]:
			default:
			}
			return at
		}
	}
}

// isReady reports whether a channel has something, or is closed. It takes nothing from it.
func isReady(c <-chan struct{}) bool {
	if c == nil || len(c) > 0 {
		return c != nil
	}
	select {
	case _, ok := <-c:
		if ok {
			panic("routine: what a channel without a buffer has comes from outside of the world")
		}
		return true
	default:
		return false
	}
}

// events is the Timeline. Nothing is drawn there before what has been left out is drawn: most looks find nothing, and
// need no number.
func (p *Process) events() Timeline {
	for ; p.owed > 0; p.owed-- {
		p.line.Uint64()
	}
	return p.line
}

// Now implements scheduler.Clock.
func (p *Process) Now() time.Time { return p.line.Now() }

// Since implements scheduler.Clock.
func (p *Process) Since(t time.Time) time.Duration { return p.line.Now().Sub(t) }

// Uint64 implements scheduler.Scheduler.
func (p *Process) Uint64() uint64 { return p.events().Uint64() }

// Own panics if no routine of the process runs. What calls is another goroutine then, such as one that a handler has
// started: it runs beside the world, which can neither order nor repeat what it does, and breaks it.
func (p *Process) Own() {
	if p.running == nil && !p.killed {
		panic("routine: a goroutine from outside calls into a simulated process: handlers, and what they " +
			"call, must start no goroutine there")
	}
}

// Go implements scheduler.Scheduler.
func (p *Process) Go(fn func()) {
	if !p.killed {
		p.events().Soon(func() { p.Enter(fn) })
	}
}

// Await implements scheduler.Scheduler.
func (p *Process) Await(a, b, c <-chan struct{}) int {
	r := p.running
	if r == nil {
		panic("routine: Await is called by what no routine runs: let it enter by Process.Enter")
	}
	waits := [3]<-chan struct{}{a, b, c}
	if !p.killed {
		if got := p.receive(&waits); got >= 0 {
			return got
		}
		p.waits++
		p.parked = append(p.parked, parked{waits: waits, r: r, nth: p.waits})
	}
	return r.wait()
}

// wait lets others run until Look has the routine go on.
func (r *routine) wait() int {
	if !r.yield(struct{}{}) {
		runtime.Goexit() // the process was killed
	}
	return r.got
}

// Yield implements scheduler.Scheduler. Nothing else runs, so there is nothing to let run.
func (p *Process) Yield() {}

// Shield implements scheduler.Scheduler.
func (p *Process) Shield(fn func()) { fn() }

// Kill ends the process: nothing of it runs any more, except the deferred calls of its routines. One
// of them may call it; that one ends when it waits or returns.
func (p *Process) Kill() {
	if p.killed {
		return
	}
	p.killed, p.parked, p.idle = true, nil, nil
	for _, r := range slices.Clone(p.all) {
		if !r.active {
			p.end(r)
		}
	}
}

// end ends a routine of a process that was killed. It unwinds the routine by runtime.Goexit, which
// passes on to the goroutine that stops the routine; so a goroutine of its own does that.
func (p *Process) end(r *routine) {
	p.all = slices.DeleteFunc(p.all, func(x *routine) bool { return x == r })
	before := p.running
	p.running = r
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.stop()
	}()
	<-over
	p.running = before
}
