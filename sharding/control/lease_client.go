package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// LeaseTimeout bounds one call of a store of leases.
const LeaseTimeout = 5 * time.Second

// leaseClient carries out what one machine wants of one lease: in order, and on a goroutine of its
// own, for which nothing waits. A store that stands still holds up nothing except this lease.
type leaseClient struct {
	ctx         context.Context // ends with the region: nothing is acquired any more
	store       locks.Store
	name, owner string
	log         *slog.Logger
	scheduler   scheduler.Scheduler

	mu   sync.Mutex
	ops  []leaseOp
	busy chan struct{} // closed when no work is left; nil: there is none

	failed error       // of the last release; nil: it was given back
	behind atomic.Bool // a release waits for what goes on under the lease, and everything else for that

	lock locks.Lock  // of the goroutine; nil: none is open
	hold *lease.Hold // of the goroutine: the present hold
}

// leaseOp is one thing to do: an acquisition tells what came of it, and, if it was granted, with
// its term; without tell it is a release, which may have to wait for something.
type leaseOp struct {
	gen   uint64
	tell  func(*lease.Hold, any)
	after <-chan struct{} // nil: nothing
	done  func()          // of a release; nil: not asked for
}

func (l *leaseClient) acquire(gen uint64, tell func(*lease.Hold, any)) {
	l.put(leaseOp{gen: gen, tell: tell})
}

// release gives back what is held or is being acquired, when after is closed if there is one; what
// is asked for later waits for it. An acquisition that has not begun is left out. done is called
// when the store has answered, whatever it says.
func (l *leaseClient) release(after <-chan struct{}, done func()) {
	l.put(leaseOp{after: after, done: done})
}

func (l *leaseClient) put(op leaseOp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.tell == nil {
		l.ops = slices.DeleteFunc(l.ops, func(o leaseOp) bool { return o.tell != nil })
	}
	l.ops = append(l.ops, op)
	if l.busy == nil {
		l.busy = make(chan struct{})
		l.scheduler.Go(l.run)
	}
}

// rests waits until no work is left.
func (l *leaseClient) rests(ctx context.Context) error {
	l.mu.Lock()
	busy := l.busy
	l.mu.Unlock()
	if busy != nil && l.scheduler.Await(busy, ctx.Done(), nil) == 1 {
		return fmt.Errorf("lease %q: %w", l.name, context.Cause(ctx))
	}
	return nil
}

// settled waits likewise. The error says why the lease may not have been given back.
func (l *leaseClient) settled(ctx context.Context) error {
	if err := l.rests(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return fmt.Errorf("lease %q: %w", l.name, l.failed)
	}
	return nil
}

func (l *leaseClient) run() {
	for {
		l.mu.Lock()
		if len(l.ops) == 0 {
			close(l.busy)
			l.busy = nil
			l.mu.Unlock()
			return
		}
		op := l.ops[0]
		l.ops = l.ops[1:]
		l.mu.Unlock()
		switch {
		case op.tell != nil:
			l.take(op)
		case op.after != nil:
			l.behind.Store(true)
			l.scheduler.Await(op.after, nil, nil)
			l.behind.Store(false)
			l.giveBack()
		default:
			l.giveBack()
		}
		if op.done != nil {
			op.done()
		}
	}
}

// take tries once. After an error the lease may be held or not, so it is given back.
func (l *leaseClient) take(op leaseOp) {
	ctx, cancel := l.scheduler.WithTimeout(l.ctx, LeaseTimeout)
	defer cancel()
	g, ok, err := l.try(ctx, op)
	if err == nil && ok {
		l.hold = g
		op.tell(g, protocol.LeaseGranted{Gen: op.gen})
		return
	}
	text := ""
	switch {
	case err != nil:
		text = err.Error()
		l.giveBack()
	default:
		if h, is := l.lock.(locks.Holder); is {
			text = heldBy(h.Holder(ctx))
		}
	}
	op.tell(nil, protocol.LeaseRefused{Gen: op.gen, Text: text})
}

func heldBy(who string) string {
	if who == "" {
		return ""
	}
	return "held by " + who
}

func (l *leaseClient) try(ctx context.Context, op leaseOp) (g *lease.Hold, ok bool, err error) {
	if l.lock == nil {
		if l.lock, err = l.store.Lock(l.name, l.owner); err != nil {
			l.lock = nil
			return nil, false, err
		}
	}
	g = lease.NewHold(l.scheduler.Now, l.lock, func(err error) {
		op.tell(nil, protocol.LeaseLost{Gen: op.gen, Text: err.Error()})
	})
	ok, err = l.lock.Acquire(ctx, g.Lose)
	return g, ok, err
}

// waitsFor says why there is no answer.
func (l *leaseClient) waitsFor() string {
	if l.behind.Load() {
		return "a handler that ran here under it, or a write, has not ended"
	}
	return ""
}

// giveBack ends the present hold and closes the door. If that fails the lease ends with the
// process, or when its time has run out.
func (l *leaseClient) giveBack() {
	l.hold.Close()
	l.hold = nil
	if l.lock == nil {
		return
	}
	ctx, cancel := l.scheduler.WithTimeout(context.Background(), LeaseTimeout)
	defer cancel()
	err := errors.Join(l.lock.Release(ctx), l.lock.Close())
	l.lock = nil
	l.mu.Lock()
	l.failed = err
	l.mu.Unlock()
	if err != nil {
		l.log.Warn("sharding: a lease could not be given back", "lease", l.name, "error", err)
	}
}
