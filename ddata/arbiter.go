package ddata

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
)

// arbiter carries out what the membership wants of its lease in Config.Leases, on a goroutine of
// its own: a store that stands still holds up nothing else.
type arbiter struct {
	door    locks.Lock
	timeout time.Duration // of one call
	post    func(membership.Input)

	ops  chan arbitration.Op
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	term int  // counts the acquisitions
	lost bool // in this term
	held bool // and the membership was told so

	until time.Time // as the membership was told; of its goroutine alone
}

// arbiterName is the name of the lease of a cluster's members.
func arbiterName(cluster string) string { return "members-" + cluster }

// opsMax is more than the membership has waiting: one call that is answered, and what it gave back
// before.
const opsMax = 8

// startArbiter returns nil without Config.Leases.
func startArbiter(n *Node, post func(membership.Input)) (*arbiter, error) {
	if n.cfg.Leases == nil {
		return nil, nil
	}
	guarded := locks.Guarded(n.cfg.Leases, func(p locks.Panic) {
		n.reports.panicked(p.Call+" of Config.Leases", p.Value, p.Stack)
	})
	door, err := guarded.Lock(arbiterName(n.cfg.Name), fmt.Sprintf("%v@%s", n.uid, n.net.Addr()))
	if err != nil {
		return nil, fmt.Errorf("ddata: Config.Leases: %w", err)
	}
	a := &arbiter{
		door: door, timeout: n.cfg.RequestTimeout, post: post, ops: make(chan arbitration.Op, opsMax),
		done: make(chan struct{}),
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	go a.run()
	return a, nil
}

// close gives the lease back and waits for what is under way.
func (a *arbiter) close() error {
	a.stop()
	<-a.done
	return a.door.Close()
}

func (a *arbiter) run() {
	defer close(a.done)
	for {
		select {
		case <-a.ctx.Done():
			return
		case op := <-a.ops:
			ctx, cancel := context.WithTimeout(a.ctx, a.timeout)
			a.carryOut(ctx, op)
			cancel()
		}
	}
}

func (a *arbiter) carryOut(ctx context.Context, op arbitration.Op) {
	switch op.Do {
	case arbitration.Acquire:
		a.acquire(ctx)
	case arbitration.Save:
		if err := a.door.Save(ctx, op.Record); err != nil {
			a.post(membership.ArbiterSaved{Err: err.Error()})
			return
		}
		a.post(membership.ArbiterSaved{})
	case arbitration.Release:
		a.release(ctx)
	}
}

// acquire tries once. What it has got and cannot use it gives back.
func (a *arbiter) acquire(ctx context.Context) {
	a.mu.Lock()
	a.term++
	a.lost, a.held = false, false
	term := a.term
	a.mu.Unlock()
	ok, err := a.door.Acquire(ctx, func(err error) { a.onLost(term, err) })
	if err == nil && !ok {
		a.post(membership.ArbiterDenied{})
		return
	}
	var record []byte
	if err == nil {
		record, err = a.door.Load(ctx)
	}
	if err == nil && a.acquired(record) {
		return
	}
	if err == nil {
		err = locks.ErrNotHeld
	}
	a.release(ctx)
	a.post(membership.ArbiterDenied{Err: err.Error()})
}

// acquired tells the membership, unless the lease was lost meanwhile, and reports whether it did.
// Otherwise the membership would hear of a lease after its loss.
func (a *arbiter) acquired(record []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.door.Until()
	if a.lost || until.IsZero() {
		return false
	}
	a.held = true
	a.post(membership.ArbiterAcquired{Record: record, Until: until})
	return true
}

func (a *arbiter) onLost(term int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if term != a.term {
		return
	}
	a.lost = true
	if a.held {
		a.held = false
		a.post(membership.ArbiterLost{Err: err.Error()})
	}
}

// release gives the lease back even when the call before has used up the time.
func (a *arbiter) release(ctx context.Context) {
	a.mu.Lock()
	a.term++
	a.held = false
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.timeout)
	defer cancel()
	_ = a.door.Release(ctx) // it does not count as held any more; the next node that acquires learns what is wrong
}

// prolonged says until when the lease is held now, if that is not what the membership knows. It is
// called by the membership's goroutine.
func (a *arbiter) prolonged() (membership.ArbiterProlonged, bool) {
	until := a.door.Until()
	changed := !until.Equal(a.until)
	a.until = until
	return membership.ArbiterProlonged{Until: until}, changed
}
