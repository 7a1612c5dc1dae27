package runloop

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// ErrSilent: nothing got on for as long as the caller of Progress.Await was ready to wait.
var ErrSilent = errors.New("runloop: no progress")

// Progress tells those that wait for a state when it changes. A lock of the owner guards the state
// and the Progress: Made and Next are called under it. The zero value is ready for use.
type Progress struct {
	next chan struct{} // closed with the next change; nil: nothing waits
}

// Made tells all that wait that the state has changed.
func (p *Progress) Made() {
	if p.next != nil {
		close(p.next)
		p.next = nil
	}
}

// Next is closed with the next change.
func (p *Progress) Next() <-chan struct{} {
	if p.next == nil {
		p.next = make(chan struct{})
	}
	return p.next
}

// Await waits, as s does, until done, which is called under lock, now and after each change. It gives
// up with ErrSilent when there is no change for patience, and with the cause of ctx when that ends.
// lock is the owner's, and not held by the caller.
func (p *Progress) Await(ctx context.Context, s scheduler.Scheduler, lock sync.Locker, patience time.Duration,
	done func() bool) error {
	silent, changed := make(chan struct{}, 1), s.Now()
	t := s.AfterFunc(patience, func() { silent <- struct{}{} })
	defer t.Stop()
	for {
		lock.Lock()
		if done() {
			lock.Unlock()
			return nil
		}
		next := p.Next()
		lock.Unlock()
		switch s.Await(next, silent, ctx.Done()) {
		case 0:
			changed = s.Now()
		case 1:
			left := patience - s.Since(changed)
			if left <= 0 {
				return ErrSilent
			}
			t.Reset(left)
		case 2:
			return context.Cause(ctx)
		}
	}
}
