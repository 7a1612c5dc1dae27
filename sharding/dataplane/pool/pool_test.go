package pool

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/proptest/defect"
)

// job is a task that calls a function.
type job struct {
	name string
	do   func(*Slice)
}

func (j *job) String() string { return j.name }
func (j *job) Run(s *Slice)   { j.do(s) }

// pooled runs fn with a pool of one worker, at most max, which it drains afterwards.
func pooled(t *testing.T, max int, fn func(*Pool[*job])) {
	bubble.Test(t, func(t *testing.T) {
		p := New[*job](1, max, scheduler.Goroutines{}, defect.Set{})
		fn(p)
		if err := p.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if n := p.Workers(); n != 0 {
			t.Errorf("%d workers are left", n)
		}
	})
}

// Tasks run in the order in which they came, and one that is submitted again runs behind the others.
func TestTasksRunInOrder(t *testing.T) {
	pooled(t, 1, func(p *Pool[*job]) {
		gate, got := make(chan struct{}), ""
		first := &job{do: func(*Slice) { <-gate }}
		again := &job{}
		again.do = func(s *Slice) {
			got += "a"
			if s.Others() {
				p.Submit(again)
			}
		}
		p.Submit(first)
		p.Submit(again)
		p.Submit(&job{do: func(*Slice) { got += "b" }})
		if n := p.Queued(); n < 2 {
			t.Errorf("%d tasks wait", n)
		}
		close(gate)
		synctest.Wait()
		if got != "aba" {
			t.Errorf("ran %q", got)
		}
	})
}

// A task runs although a handler keeps the only base worker, whether the handler says so or not.
func TestBlockedWorkersAreReplaced(t *testing.T) {
	for name, says := range map[string]bool{"said": true, "unsaid": false} {
		t.Run(name, func(t *testing.T) {
			pooled(t, 2, func(p *Pool[*job]) {
				gate := make(chan struct{})
				p.Submit(&job{do: func(*Slice) {
					if says {
						p.Block()
						defer p.Unblock()
					}
					<-gate
				}})
				synctest.Wait()
				began := time.Now()
				p.Submit(&job{do: func(*Slice) { close(gate) }})
				<-gate
				if waited := time.Since(began); says && waited > 0 || waited > 2*monitorTick {
					t.Errorf("the other task waited for %v", waited)
				}
			})
		})
	}
}

// The pool has a worker again after a task has ended the goroutine of one.
func TestWorkerEndsWithATask(t *testing.T) {
	pooled(t, 1, func(p *Pool[*job]) {
		p.Submit(&job{do: func(*Slice) { runtime.Goexit() }})
		synctest.Wait()
		var ran atomic.Bool
		p.Submit(&job{do: func(*Slice) { ran.Store(true) }})
		synctest.Wait()
		if !ran.Load() {
			t.Error("the task after it did not run")
		}
	})
}

// yields counts what a pool yields; each takes a time of its own.
type yields struct {
	scheduler.Goroutines
	n    atomic.Int64
	take atomic.Int64
}

func (y *yields) Yield() {
	y.n.Add(1)
	<-time.After(time.Duration(y.take.Load()))
}

// A worker pauses after a sparse slice, and after no other; when a pause has taken long, for a second of work no
// more.
func TestWorkersPauseAfterSparseSlices(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const tasks = 10
		y := &yields{}
		p := New[*job](1, 1, y, defect.Set{})
		pauses := func(handle func(*Slice)) int64 {
			gate := make(chan struct{})
			p.Submit(&job{do: func(*Slice) { <-gate }})
			synctest.Wait()
			for range tasks {
				p.Submit(&job{do: handle})
			}
			p.Submit(&job{do: func(*Slice) { <-gate }}) // what is yielded to find more is not counted
			before := y.n.Load()
			gate <- struct{}{}
			<-time.After(tasks * time.Second)
			n := y.n.Load() - before
			close(gate)
			synctest.Wait()
			return n
		}
		if n := pauses(func(*Slice) {}); n != 0 {
			t.Errorf("%d pauses after slices that are not sparse", n)
		}
		if n := pauses((*Slice).Sparse); n != tasks {
			t.Errorf("%d pauses after %d sparse slices", n, tasks)
		}
		y.take.Store(int64(3 * monitorTick))
		if n := pauses((*Slice).Sparse); n != 1 {
			t.Errorf("%d long pauses", n)
		}
		y.take.Store(0)
		if n := pauses(func(s *Slice) {
			<-time.After(hasteTicks / tasks * 2 * monitorTick)
			s.Sparse()
		}); n == 0 || n > tasks*2/3 {
			t.Errorf("%d pauses in two seconds after a long one", n)
		}
		if err := p.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The watch tells of a handler that does not return, again when its age has doubled, and not of one
// that begins messages.
func TestWatchTellsOfSlowTasks(t *testing.T) {
	pooled(t, 3, func(p *Pool[*job]) {
		var told []SlowTask[*job]
		w := NewWatch(p, scheduler.Goroutines{}, WatchSettings[*job]{
			After: time.Second, Note: func(s SlowTask[*job]) { told = append(told, s) },
			Where: func(stack string) string { return "" },
		})
		w.Start()
		gate := make(chan struct{})
		slow := &job{name: "slow", do: func(*Slice) { <-gate }}
		p.Submit(slow)
		p.Submit(&job{name: "busy", do: func(s *Slice) {
			for range 100 {
				s.Begin()
				select {
				case <-gate:
				case <-time.After(100 * time.Millisecond):
				}
			}
		}})
		<-time.After(3 * time.Second)
		synctest.Wait()
		if len(told) != 2 || told[0].Task != slow || told[1].Task != slow || told[1].Age < 2*told[0].Age {
			t.Errorf("told of %v", told)
		}
		if n := w.Slow(); n != 1 {
			t.Errorf("%d are slow", n)
		}
		if got := w.Running(slow); got != "a handler of it has run for 2.75s" {
			t.Errorf("%q", got)
		}
		w.Stop()
		close(gate)
	})
}
