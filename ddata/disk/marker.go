package disk

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// marker keeps a mark in the directory ahead of what the node does: until when it may be at work.
// After a kill the next node on the directory reads it, and waits for the leases that this one
// granted from then on only (Env.Mark, Env.Idle).
//
// The mark comes before what it has to cover. A grant that is computed later than the marked time
// is not sent; covers says so. A record, and with it a view that binds the node (G3), makes all
// marks before it void.
//
// A goroutine of its own moves the mark on, four times in the time that it is ahead, and the loop
// does not wait for it. While a disk does not take the mark, the others get no grants of this node.
// The node has its own lease by theirs.
type marker struct {
	put    func(ahead time.Duration) (known bool, err error)
	remove func() error
	ahead  time.Duration
	warn   func(cause error, kept bool) // the mark could not be written; kept: nor removed

	base time.Time // until counts from it
	// in nanoseconds; 0: there was no mark yet, math.MaxInt64: there is none, and the next node
	// knows that
	until atomic.Int64

	mu      sync.Mutex // one mark at a time
	began   bool
	failing bool // as it was told
	stopped chan struct{}
	done    sync.WaitGroup
}

// ErrUnmarked is why a grant is not sent.
var ErrUnmarked = errors.New("the disk of Config.Dir has not taken the mark that has to come before a grant")

func newMarker(put func(time.Duration) (bool, error), remove func() error, lease time.Duration,
	warn func(error, bool)) *marker {
	return &marker{
		put: put, remove: remove, ahead: lease / 2, warn: warn, base: time.Now(), stopped: make(chan struct{}),
	}
}

// covers reports whether the next node on the directory will count what this one computes at a
// time.
func (k *marker) covers(now time.Time) bool {
	until := k.until.Load()
	return until == math.MaxInt64 || until != 0 && int64(now.Sub(k.base)) <= until
}

// move writes a mark that is ahead of now. The first one starts the goroutine that writes the
// others. An error says that the directory may have a mark that is too old.
func (k *marker) move() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.began {
		k.began = true
		k.done.Go(k.run)
	}
	return k.write(k.ahead)
}

func (k *marker) write(ahead time.Duration) error {
	if k.until.Load() == math.MaxInt64 {
		return nil
	}
	now := time.Now() // before the mark reads its clock
	known, err := k.put(ahead)
	if err == nil && known {
		k.until.Store(max(1, int64(now.Add(ahead).Sub(k.base))))
		k.failing = false
		return nil
	}
	cause := err
	if err != nil {
		err = k.remove()
	}
	if cause != nil && !k.failing {
		k.failing = true
		k.warn(cause, err != nil)
	}
	if err == nil {
		k.until.Store(math.MaxInt64)
	}
	return err
}

// before has fn called before each later mark.
func (k *marker) before(fn func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	put := k.put
	k.put = func(ahead time.Duration) (bool, error) {
		fn()
		return put(ahead)
	}
}

func (k *marker) run() {
	every := time.NewTicker(max(k.ahead/4, time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-every.C:
			_ = k.move() // tried again
		case <-k.stopped:
			return
		}
	}
}

// stop ends the marks with one of this moment. The node must do nothing any more.
func (k *marker) stop() {
	close(k.stopped)
	k.done.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.began {
		_ = k.write(0) // if it fails, a later one stays, or none
	}
}
