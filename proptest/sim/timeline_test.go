package sim

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/options"
)

// drain lets all happen that is due, and what that brings about.
func drain(t *testing.T, w *World) {
	t.Helper()
	for range 1000 {
		if w.q.Empty() {
			return
		}
		e := w.q.Pop()
		w.now = e.At
		e.Run()
	}
	t.Fatal("something always happens next")
}

// A process that was suspended has its timers fire when its clock has come so far, and never before:
// a runloop that is woken early takes its timer for one that still runs, and waits without end.
func TestTimersWaitWhileTheClockStandsStill(t *testing.T) {
	w := newWorld(1, options.Plan{}, nil)
	p := &Process{w: w, clock: clock.Draw(w.nextID, 0, 0), alive: true}
	line := &timeline{p, w.nextID}
	due, fired := line.Now().Add(time.Second), 0
	routine.NewProcess(line).AfterFunc(time.Second, func() {
		if fired++; line.Now().Before(due) {
			t.Errorf("%v too early", due.Sub(line.Now()))
		}
	})
	p.clock.Suspend(3 * time.Second)
	drain(t, w)
	if least := int64(4 * time.Second); fired != 1 || w.now < least {
		t.Errorf("fired %d times, the last at %v", fired, time.Duration(w.now))
	}
}
