package scheduler_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

func TestAwaitReceivesFromOne(t *testing.T) {
	var s scheduler.Goroutines
	full, closed := make(chan struct{}, 1), make(chan struct{})
	close(closed)
	for _, c := range []struct {
		channels [3]<-chan struct{}
		want     int
	}{
		{[3]<-chan struct{}{full}, 0},
		{[3]<-chan struct{}{nil, full}, 1},
		{[3]<-chan struct{}{make(chan struct{}), closed}, 1},
		{[3]<-chan struct{}{nil, make(chan struct{}), full}, 2},
		{[3]<-chan struct{}{closed, nil, make(chan struct{})}, 0},
	} {
		select {
		case full <- struct{}{}:
		default:
		}
		if got := s.Await(c.channels[0], c.channels[1], c.channels[2]); got != c.want {
			t.Errorf("received from %d, not from %d", got, c.want)
		}
	}
}

func TestShieldSurvivesGoexit(t *testing.T) {
	called := false
	scheduler.Goroutines{}.Shield(func() {
		called = true
		runtime.Goexit()
	})
	if !called {
		t.Error("it was not called")
	}
}

func TestGroupWaitsForAll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := scheduler.NewGroup(scheduler.Goroutines{})
		g.Wait() // for nothing
		var ended atomic.Int32
		for i := range 10 {
			g.Go(func() {
				defer ended.Add(1)
				<-time.After(time.Duration(i) * time.Second)
				if i%2 == 0 {
					runtime.Goexit()
				}
			})
		}
		over := g.Over()
		synctest.Wait()
		select {
		case <-over:
			t.Error("it is over while functions run")
		default:
		}
		g.Wait()
		<-over
		if n := ended.Load(); n != 10 {
			t.Errorf("%d have ended", n)
		}
	})
}
