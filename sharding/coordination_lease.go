package sharding

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// leaseOp carries out what the Coordinator wants of its lease.
func (d *coordination) leaseOp(op protocol.LeaseOp) {
	if !op.Acquire {
		d.hold.close()
		d.hold = nil
		d.leaseClient.release(nil, nil)
		return
	}
	d.leaseClient.acquire(op.Gen, func(g *leaseHold, in any) {
		d.loop.Force(coordInput{do: func(now time.Time) {
			if g != nil {
				d.hold, d.gen = g, op.Gen
			}
			d.Step(now, coordInput{in: in.(protocol.CoordinatorInput)})
		}})
	})
}

// expelled has the machine know that its lease is lost before anything else, if it is: an input
// that it takes afterwards finds it without power.
func (d *coordination) expelled(now time.Time) {
	if d.hold == nil || d.hold.open() {
		return
	}
	d.hold = nil
	d.Step(now, coordInput{in: protocol.LeaseLost{Gen: d.gen, Text: "its time has passed"}})
}

// stepDown has the coordinator act no more. The result is closed when it has stepped down.
func (d *coordination) stepDown() <-chan struct{} {
	stepped := make(chan struct{})
	d.loop.Force(coordInput{do: func(now time.Time) {
		defer close(stepped)
		d.Step(now, coordInput{in: protocol.Resign{}})
	}})
	return stepped
}

// resignTimeout bounds how long the node waits with saying that it has stopped. A store that takes
// longer is asked again by the next coordinator.
const resignTimeout = time.Second

// resign has the coordinator step down and give its lease back before the members decide a view
// without this node: the next finds it free.
func (d *coordination) resign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	select {
	case <-d.stepDown():
		_ = d.leaseClient.settled(ctx) // its failure is logged, and no reason to stay
	case <-ctx.Done():
	}
	return nil
}

// stop ends the loop and gives the lease back.
func (d *coordination) stop() {
	d.loop.Stop()
	if d.leaseClient != nil {
		d.hold.close()
		d.leaseClient.release(nil, nil)
	}
}
