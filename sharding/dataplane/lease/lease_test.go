package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/failure"
)

// until is a lock that is held until a time.
type until struct {
	locks.Lock
	at time.Time
}

func (u until) Until() time.Time { return u.at }

// A hold ends with its time, says so once, and never opens again.
func TestHoldClosesOnce(t *testing.T) {
	now := time.Unix(100, 0)
	lost := []error{}
	note := func(err error) { lost = append(lost, err) }
	g := NewHold(func() time.Time { return now }, until{at: now.Add(time.Second)}, note)
	if !g.Open() {
		t.Error("it is not open")
	}
	now = now.Add(time.Second)
	if g.Open() || len(lost) != 1 || !errors.Is(lost[0], locks.ErrNotHeld) {
		t.Errorf("after its time: %v", lost)
	}
	now = now.Add(-time.Second)
	g.Lose(errors.New("again"))
	if g.Open() || len(lost) != 1 {
		t.Errorf("it has opened, or was lost twice: %v", lost)
	}
	g = NewHold(func() time.Time { return now }, until{at: now.Add(time.Second)}, func(error) { t.Error("lost") })
	g.Close()
	if g.Lose(nil); g.Open() {
		t.Error("it is open after its end")
	}
	var none *Hold
	if none.Close(); none.Open() {
		t.Error("none is open")
	}
}

// nodeLease is the lease of a node, which changes without a word.
type nodeLease struct{ held atomic.Bool }

func (l *nodeLease) Holds() bool                     { return l.held.Load() }
func (l *nodeLease) OnLease(func(bool)) (end func()) { return func() {} }

// waiter counts how often it went on.
type waiter struct{ times atomic.Int32 }

func (w *waiter) LeaseReturned() { w.times.Add(1) }

// What waits for the lease goes on when it is back, once, also if no notice tells of that.
func TestSuspendedGoOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		held := &nodeLease{}
		l := NewNode(held, scheduler.Goroutines{})
		defer l.Stop()
		var told, silent, late waiter
		l.Suspend(&told)
		<-time.After(time.Second)
		if l.Changed(false); told.times.Load() != 0 {
			t.Error("it goes on without the lease")
		}
		if l.Changed(true); told.times.Load() != 1 {
			t.Errorf("it went on %d times", told.times.Load())
		}
		l.Suspend(&silent)
		<-time.After(5 * lookEvery)
		held.held.Store(true)
		<-time.After(lookEvery)
		if synctest.Wait(); silent.times.Load() != 1 || told.times.Load() != 1 {
			t.Errorf("it went on %d times without a word", silent.times.Load())
		}
		if l.Suspend(&late); late.times.Load() != 1 {
			t.Error("it waits for a lease that is held")
		}
	})
}

// The contexts of handlers end with the holding under which they began.
func TestContextsEndWithTheHolding(t *testing.T) {
	held := &nodeLease{}
	l := NewNode(held, scheduler.Goroutines{})
	if err := context.Cause(l.Context()); !errors.Is(err, failure.ErrNoLease) {
		t.Errorf("without the lease: %v", err)
	}
	held.held.Store(true)
	first := l.Context()
	if first.Err() != nil || l.Context() != first {
		t.Error("two contexts under one holding, or one that has ended")
	}
	l.Changed(false)
	if err := context.Cause(first); !errors.Is(err, failure.ErrNoLease) {
		t.Errorf("after the loss: %v", err)
	}
	l.Changed(true)
	second := l.Context()
	if second.Err() != nil {
		t.Error("the next holding has ended with the one before")
	}
	if l.End(failure.ErrStopped); !errors.Is(context.Cause(second), failure.ErrStopped) {
		t.Errorf("at the end: %v", context.Cause(second))
	}
}

// The lease of a shard is quiet when the last of what goes on under it is over.
func TestShardIsQuietWhenAllIsOver(t *testing.T) {
	var s Shard
	quiet := 0
	s.Enter()
	s.Enter()
	s.WhenQuiet(func() { quiet++ })
	if s.Exit(); quiet != 0 {
		t.Fatal("it is quiet while something goes on")
	}
	s.Exit()
	s.Enter()
	if s.Exit(); quiet != 1 {
		t.Errorf("it was quiet %d times", quiet)
	}
	if s.WhenQuiet(func() { quiet++ }); quiet != 2 {
		t.Error("nothing goes on, and it is not quiet")
	}
}

// A shard says why it has no lease, until it has one.
func TestShardSaysWhyItWaits(t *testing.T) {
	var s Shard
	behind := ""
	if got := s.Awaits(); s.Open() || got != "the store has not answered yet" {
		t.Error(got)
	}
	s.Ask(func() string { return behind })
	if s.Refuse("held by another"); s.Awaits() != "held by another" {
		t.Error(s.Awaits())
	}
	if behind = "a write has not ended"; s.Awaits() != behind {
		t.Error(s.Awaits())
	}
	now := time.Unix(100, 0)
	s.Grant(NewHold(func() time.Time { return now }, until{at: now.Add(time.Second)}, func(error) {}))
	if !s.Open() || s.Returned() || s.Awaits() != "" {
		t.Errorf("granted: %q", s.Awaits())
	}
	if s.Return(); s.Open() || !s.Returned() || s.Awaits() != behind {
		t.Errorf("returned: %q", s.Awaits())
	}
}
