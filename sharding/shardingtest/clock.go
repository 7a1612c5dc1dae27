package shardingtest

import (
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/proptest/routine"
)

// driver has the time of a node, and runs what the test calls. Its methods are the test's, one call at a
// time.
type driver interface {
	// Scheduler is that of the node; any of its functions may call it.
	scheduler.Scheduler
	// do calls fn, which may wait, and returns when fn has returned. Time passes while nothing else can
	// happen.
	do(fn func())
	// begin calls fn beside the test.
	begin(fn func())
	// settle lets everything happen that can happen without time.
	settle()
	// pass lets time pass.
	pass(d time.Duration)
	// end ends everything; stop is how that is done in order.
	end(stop func())
}

// newDriver returns the driver of a test: that of its bubble, if it runs in one.
func newDriver(t TB) driver {
	if bubble.Inside() {
		return bubbled{}
	}
	w := routine.NewWorld(1)
	return &virtual{Process: w.NewProcess(), w: w, t: t}
}

// virtual runs everything on the goroutine of the test, in virtual time.
type virtual struct {
	*routine.Process
	w *routine.World
	t TB
}

func (v *virtual) do(fn func()) {
	v.t.Helper()
	over := false
	v.Enter(func() {
		fn()
		over = true
	})
	for !over {
		if !v.w.Step() {
			v.t.Fatalf("shardingtest: the call waits, and nothing can happen any more that would end it")
		}
	}
	v.settle()
}

func (v *virtual) begin(fn func()) {
	v.Enter(fn)
	v.settle()
}

func (v *virtual) settle() { v.w.Settle() }

func (v *virtual) pass(d time.Duration) {
	v.w.Run(d)
	v.settle()
}

func (v *virtual) end(func()) { v.w.End() }

// bubbled runs everything on goroutines of a bubble.
type bubbled struct{ scheduler.Goroutines }

func (bubbled) do(fn func()) {
	fn()
	synctest.Wait()
}

func (bubbled) begin(fn func()) {
	go fn()
	synctest.Wait()
}

func (bubbled) settle() { synctest.Wait() }

func (bubbled) pass(d time.Duration) {
	over := time.NewTimer(d)
	<-over.C
	synctest.Wait()
}

func (b bubbled) end(stop func()) { b.do(stop) }
