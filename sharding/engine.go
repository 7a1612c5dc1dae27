package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// leave hands all shards over.
func (run *engine) leave(ctx context.Context) error {
	run.beginLeave()
	return run.awaitLeft(ctx)
}

// beginLeave has the region hand all shards over. It reports whether nothing had it do so before.
func (run *engine) beginLeave() (first bool) {
	now := run.plane.Scheduler.Now()
	if first = run.leavingSince.CompareAndSwap(nil, &now); first {
		run.plane.Standing.Leaving()
	}
	run.control.Inbox.ToRegion(protocol.Leave{})
	return first
}

// awaitLeft waits until nothing is here any more.
func (run *engine) awaitLeft(ctx context.Context) error {
	if run.plane.Scheduler.Await(run.control.Left(), run.plane.Ended, ctx.Done()) < 2 {
		return nil
	}
	err := fmt.Errorf("sharding %q: shards are still here: %w", run.plane.Name, context.Cause(ctx))
	for _, why := range run.holdUps() {
		if why != "" {
			err = fmt.Errorf("%w (%s)", err, why)
		}
	}
	return err
}

// holdUps are what shards that are still here may wait for; empty texts: nothing.
func (run *engine) holdUps() []string {
	all := []string{run.plane.Entities.Slow.AllRunning(), run.plane.Entities.Waits.Oldest()}
	if why := run.plane.Standing.Uncoordinated(); why != nil {
		all = append(all, why.Error())
	}
	return all
}

// close closes the region for its users while its node stays a member: it hands its shards over, as
// long as ctx allows, and stops by force what is left then. Its machines go on: other nodes' ask
// them, and this node's coordinator may be the one that acts.
func (run *engine) close(ctx context.Context) (err error) {
	if run.onClose == nil {
		return run.end(ctx, errRegionClosed)
	}
	run.closing.Store(true)
	if run.plane.Standing.IsNew() || run.leave(ctx) != nil {
		err = run.quit(ctx)
	}
	run.closeOnce.Do(func() {
		run.refuseUsers(errRegionClosed)
		run.onClose()
	})
	return err
}

// quit stops by force what is here. It returns at once if the region is empty.
func (run *engine) quit(ctx context.Context) error {
	run.control.Inbox.ToRegion(protocol.Quit{})
	ctx, cancel := run.plane.Scheduler.WithTimeout(context.WithoutCancel(ctx), quitGrace)
	defer cancel()
	err := run.awaitLeft(ctx)
	if err == nil {
		return nil
	}
	if n := len(run.plane.Routes.Shards()); n > 0 {
		return fmt.Errorf("sharding %q: handlers still run in %d shards, which stop when these return: %w",
			run.plane.Name, n, err)
	}
	return err
}

// quitGrace is what handlers have, to be cancelled and return, when the time to hand over was not
// enough.
const quitGrace = 100 * time.Millisecond

// errRegionClosed is why a region has stopped whose node goes on.
var errRegionClosed = errors.New("Region.Close was called")

// refuseUsers closes the region for its users.
func (run *engine) refuseUsers(why error) {
	run.refuseOnce.Do(func() {
		run.plane.Users.Close(why)
		run.plane.Asks.FailAll(run.plane.Users.Err())
		if run.unmeter != nil {
			run.unmeter()
		}
	})
}

// onCancel keeps what ends a registration, for end.
func (run *engine) onCancel(cancel func()) {
	run.mu.Lock()
	if !run.unregistered {
		run.cancels = append(run.cancels, cancel)
		cancel = func() {}
	}
	run.mu.Unlock()
	cancel()
}

func (run *engine) unregister() {
	run.mu.Lock()
	run.unregistered = true
	cancels := run.cancels
	run.cancels = nil
	run.mu.Unlock()
	for _, cancel := range slices.Backward(cancels) {
		cancel()
	}
}

// end stops everything. The order matters: first nothing comes in any more, then the machines stop,
// then what is left is dropped. Concurrent calls each wait for their own context; the first one does
// the work, and has its errors.
func (run *engine) end(ctx context.Context, why error) error {
	r, c := run.plane, run.control
	if !run.ending.CompareAndSwap(false, true) {
		if r.Scheduler.Await(run.over, ctx.Done(), nil) == 0 {
			return nil
		}
		return fmt.Errorf("sharding %q: its end is not over: %w", r.Name, context.Cause(ctx))
	}
	defer close(run.over)
	run.refuseUsers(why)
	close(r.Ended)
	c.Refuse()
	run.unregister()
	r.Asks.Stop()
	r.Entities.StopScans()
	c.EndMachines()
	r.Entities.Lease.End(r.Users.Err())
	r.Asks.FailAll(r.Users.Err())
	r.Entities.Lease.Resume()
	err := errors.Join(r.Entities.Pool.Drain(ctx), c.Leases.Settled(ctx))
	r.Entities.Held.End()
	c.Stop()
	r.Out.Overflow.Cancel()
	r.Out.Overflow.Ended.Wait()
	c.AwaitWork()
	return err
}

// stoppedRegion takes what comes for a region that has ended, until the next one has started on the
// node or the node has ended: messages are dropped with a reason.
type stoppedRegion struct {
	r        *dataplane.Plane
	machines *absence
}

var _ transport.LossHandler = stoppedRegion{}

// Receive implements transport.Handler.
func (f stoppedRegion) Receive(from transport.NodeID, payload []byte) {
	rd := cbor.NewReader(dataplane.FrameOf(payload))
	if kind, _ := codec.OpenFrame(rd); kind == codec.Control && rd.Err() == nil {
		f.machines.Receive(from, payload)
		return
	}
	f.r.Receive(from, payload)
}

// Lost implements transport.LossHandler.
func (f stoppedRegion) Lost(to transport.NodeID, payload []byte, sent bool) {
	f.r.Lost(to, payload, sent)
}

// rests waits until no handler runs any more and no store of leases is at work. What has ended may
// have been given up on before.
func (run *engine) rests(ctx context.Context) error {
	return errors.Join(run.plane.Entities.Pool.Drain(ctx), run.control.Leases.Rest(ctx))
}

// leaveForGood is what Node.Leave waits for.
func (run *engine) leaveForGood(ctx context.Context) error {
	r := run.plane
	if err := run.leave(ctx); err != nil || r.Proxy {
		return err
	}
	old, err := r.Out.Duties.Await(ctx, r.Scheduler)
	if err != nil {
		return fmt.Errorf("sharding %q: %w", r.Name, err)
	}
	for _, q := range old {
		r.Out.ReplyError(mailbox.Envelope{Call: q.Call, Origin: q.Origin}, codec.StatusLost, "")
	}
	if v := r.Cluster.View(); v != nil {
		for _, m := range v.Members {
			if uint64(m.UID) != r.Self {
				r.Out.SendFarewell(uint64(m.UID))
			}
		}
	}
	r.Out.Overflow.Await(ctx, r.Scheduler, farewellPatience)
	return nil
}

// farewellPatience is how long a leaving node waits for room for the next answer in a connection
// that is full.
const farewellPatience = 2 * time.Second
