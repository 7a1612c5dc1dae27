package runloop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// To wait ends when the state is there, when nothing changes for too long, or with the context;
// each change gives it the whole patience anew.
func TestAwaitProgress(t *testing.T) {
	errOver := errors.New("over")
	for name, c := range map[string]struct {
		every, until, over time.Duration // changes; the end of the context
		goal               int           // how many changes are waited for
		err                error
		took               time.Duration
	}{
		"nothing to wait for": {every: 7 * time.Second},
		"in steps":            {every: 7 * time.Second, goal: 5, took: 35 * time.Second},
		"silent": {
			every: 7 * time.Second, until: 20 * time.Second, goal: 5, err: runloop.ErrSilent, took: 24 * time.Second,
		},
		"silent at once": {every: 11 * time.Second, goal: 1, err: runloop.ErrSilent, took: 10 * time.Second},
		"the context ends": {
			every: 7 * time.Second, over: 17 * time.Second, goal: 5, err: errOver, took: 17 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var p runloop.Progress
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.over > 0 {
					time.AfterFunc(c.over, func() { cancel(errOver) })
				}
				made, began := 0, time.Now()
				for at := c.every; at < time.Minute && (c.until == 0 || at < c.until); at += c.every {
					time.AfterFunc(at, func() {
						mu.Lock()
						defer mu.Unlock()
						made++
						p.Made()
					})
				}
				err := p.Await(ctx, scheduler.Goroutines{}, &mu, 10*time.Second, func() bool { return made >= c.goal })
				if took := time.Since(began); !errors.Is(err, c.err) || took != c.took {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// A change wakes all that wait for it, and no later one.
func TestProgressWakesAll(t *testing.T) {
	var p runloop.Progress
	p.Made() // nothing waits
	a, b := p.Next(), p.Next()
	p.Made()
	<-a
	<-b
	select {
	case <-p.Next():
		t.Error("an old change wakes one that comes later")
	default:
	}
}
