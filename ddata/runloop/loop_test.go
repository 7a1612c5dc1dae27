package runloop_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// recorder is a machine that notes what it is stepped with; its deadlines are given by the test.
type recorder struct {
	mu       sync.Mutex
	steps    []int
	times    []time.Time
	batches  int
	deadline time.Time
	hold     chan struct{} // if set, a step of holdAt waits for it
}

const (
	tick   = -1
	holdAt = 1000
)

func (r *recorder) Step(now time.Time, in int) {
	if in == holdAt {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps, r.times = append(r.steps, in), append(r.times, now)
	if in == tick {
		r.deadline = time.Time{}
	}
}

func (r *recorder) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
}

func (r *recorder) Deadline() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deadline
}

func (r *recorder) Tick() int { return tick }

func (r *recorder) seen() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.steps)
}

func TestStepsInOrderOfPosting(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := &recorder{}
		l := runloop.New[int](scheduler.Goroutines{}, r, 10)
		l.Start()
		defer l.Stop()
		for i := range 5 {
			if !l.Post(i) {
				t.Fatal("refused")
			}
		}
		synctest.Wait()
		if got := r.seen(); !slices.Equal(got, []int{tick, 0, 1, 2, 3, 4}) {
			t.Fatalf("stepped %v", got)
		}
	})
}

func TestTicksAtTheDeadlineAndNotBefore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		r := &recorder{}
		l := runloop.New[int](scheduler.Goroutines{}, r, 10)
		l.Start()
		defer l.Stop()
		synctest.Wait()
		r.mu.Lock()
		r.deadline = start.Add(time.Minute)
		r.mu.Unlock()
		l.Post(7) // the deadline is looked at after each batch
		<-time.After(2 * time.Minute)
		if got := r.seen(); !slices.Equal(got, []int{tick, 7, tick}) {
			t.Fatalf("stepped %v", got)
		}
		if at := r.times[2].Sub(start); at != time.Minute {
			t.Fatalf("ticked after %v", at)
		}
	})
}

func TestPostIsBoundedAndForceIsNot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		l := runloop.New[int](scheduler.Goroutines{}, r, 2)
		l.Start()
		defer l.Stop()
		l.Post(holdAt)
		synctest.Wait() // now a step is under way and the inbox is empty
		if !l.Post(1) || !l.Post(2) || l.Post(3) {
			t.Fatal("the bound of two does not hold")
		}
		if !l.Force(4) {
			t.Fatal("Force was refused")
		}
		close(r.hold)
		synctest.Wait()
		if got := r.seen(); !slices.Equal(got, []int{tick, holdAt, 1, 2, 4}) {
			t.Fatalf("stepped %v", got)
		}
		if r.batches < 2 {
			t.Fatalf("flushed %d times", r.batches)
		}
	})
}

func TestStopLeavesTheRestUnstepped(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		l := runloop.New[int](scheduler.Goroutines{}, r, 10)
		l.Start()
		l.Post(holdAt)
		synctest.Wait()
		l.Post(1)
		stopped := make(chan struct{})
		go func() {
			l.Stop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Stop did not wait for the step")
		default:
		}
		close(r.hold)
		<-stopped
		if l.Post(2) || l.Force(3) {
			t.Fatal("a stopped loop took an input")
		}
		if got := r.seen(); slices.Contains(got, 2) || slices.Contains(got, 3) {
			t.Fatalf("stepped %v", got)
		}
		rest := l.Rest()
		if stepped := slices.Contains(r.seen(), 1); stepped == slices.Contains(rest, 1) {
			t.Fatalf("1 was stepped: %t, and the rest is %v", stepped, rest)
		}
		l.Stop() // again is harmless
	})
}

// A step that panics, or ends its goroutine, ends the Loop: it is told once, nothing is stepped
// after it, and what was not stepped is there to be answered.
func TestBrokenMachineEndsItsLoop(t *testing.T) {
	for _, how := range []func(){
		func() { panic("an invariant") }, runtime.Goexit, func() { s := []int{}; _ = s[len(s)] },
	} {
		bubble.Test(t, func(t *testing.T) {
			f := &fragile{breaks: how, hold: make(chan struct{})}
			l := runloop.New[int](scheduler.Goroutines{}, f, 10)
			var told []runloop.Broken
			l.WhenBroken(func(b runloop.Broken) {
				told = append(told, b)
				if l.Post(6) || l.Force(7) {
					t.Error("a broken loop took an input")
				}
			})
			l.Start()
			synctest.Wait()
			for i := range 5 {
				l.Post(i)
			}
			close(f.hold)
			<-l.Stopped()
			if len(told) != 1 || told[0].Value == nil || !strings.Contains(string(told[0].Stack), "fragile") {
				t.Errorf("told of %d breaks: %v\n%s", len(told), told[0].Value, told[0].Stack)
			}
			if rest := l.Rest(); !slices.Equal(rest, []int{3, 4}) || !slices.Equal(f.seen, []int{0, 1}) {
				t.Errorf("stepped %v, and the rest is %v", f.seen, rest)
			}
			if l.Busy(time.Now().Add(time.Hour)) != 0 {
				t.Error("a loop that has ended is busy")
			}
			l.Stop()
		})
	}
}

// fragile is a machine that breaks at 2. Its first step waits, so that the inputs come in one
// batch.
type fragile struct {
	breaks func()
	hold   chan struct{}
	seen   []int
}

func (f *fragile) Step(_ time.Time, in int) {
	switch in {
	case tick:
		<-f.hold
	case 2:
		f.breaks()
	default:
		f.seen = append(f.seen, in)
	}
}
func (*fragile) Flush()              {}
func (*fragile) Deadline() time.Time { return time.Time{} }
func (*fragile) Tick() int           { return tick }
