package control

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// coordinatorLease is the lease of a type's coordinator on this node.
type coordinatorLease struct {
	client *leaseClient // nil: it needs none
	hold   *lease.Hold  // nil: it holds none
	gen    uint64       // of the hold
}

// granted takes a hold.
func (l *coordinatorLease) granted(g *lease.Hold, gen uint64) { l.hold, l.gen = g, gen }

// lost reports whether the hold has ended, once.
func (l *coordinatorLease) lost() bool {
	if l.hold == nil || l.hold.Open() {
		return false
	}
	l.hold = nil
	return true
}

// release gives back what is held.
func (l *coordinatorLease) release() {
	if l.client == nil {
		return
	}
	l.hold.Close()
	l.hold = nil
	l.client.release(nil, nil)
}

// leaseOp carries out what the Coordinator wants of its lease.
func (d *coordination) leaseOp(op protocol.LeaseOp) {
	if !op.Acquire {
		d.lease.release()
		return
	}
	d.lease.client.acquire(op.Gen, func(g *lease.Hold, in any) {
		d.Do(func(now time.Time) {
			if g != nil {
				d.lease.granted(g, op.Gen)
			}
			d.Step(now, coordInput{in: in.(protocol.CoordinatorInput)})
		})
	})
}

// expelled has the machine know that its lease is lost before anything else, if it is: an input
// that it takes afterwards finds it without power.
func (d *coordination) expelled(now time.Time) {
	if d.lease.lost() {
		d.Step(now, coordInput{in: protocol.LeaseLost{Gen: d.lease.gen, Text: "its time has passed"}})
	}
}

// stepDown has the coordinator act no more. The result is closed when it has stepped down.
func (d *coordination) stepDown() <-chan struct{} {
	stepped := make(chan struct{})
	d.Do(func(now time.Time) {
		defer close(stepped)
		d.Step(now, coordInput{in: protocol.Resign{}})
	})
	return stepped
}

// ResignTimeout bounds how long the node waits with saying that it has stopped. A store that takes
// longer is asked again by the next coordinator.
const ResignTimeout = time.Second

// Resign has the coordinator step down and give its lease back before the members decide a view
// without this node: the next finds it free.
func (d *coordination) Resign(ctx context.Context) error {
	ctx, cancel := d.scheduler.WithTimeout(ctx, ResignTimeout)
	defer cancel()
	if d.scheduler.Await(d.stepDown(), ctx.Done(), nil) == 0 {
		_ = d.lease.client.settled(ctx) // its failure is logged, and no reason to stay
	}
	return nil
}

// stop ends the loop and gives the lease back.
func (d *coordination) stop() {
	d.loop.Stop()
	d.lease.release()
}
