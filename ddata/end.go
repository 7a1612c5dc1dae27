package ddata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// Leave leaves the cluster gracefully, in the phases of package shutdown: the service's own tasks,
// while the node is a full member; then the view lists it as Leaving and everything is handed over;
// the others decide a view without it; and the node ends with ErrLeft. When ctx ends before that, or
// the hand-over fails, the node is closed where it stands and the error says what was missing; the
// others then treat it as crashed. Give ctx a deadline: without one, Leave waits for as long as a
// majority of the members is missing.
//
// Before the node says that it has stopped, it waits until the other members have received what it
// has sent; before it ends, it tells them what it has received. Leave returns nil when the node has
// left, or was closed before; a node that was downed meanwhile gives ErrDowned. What a service's
// task missed is told by the event ShutdownPhase, and holds up nothing.
func (n *Node) Leave(ctx context.Context) error {
	n.life.leaving.Store(true)
	began := time.Now()
	_ = n.phases.Run(ctx, servicePhases...)
	err := n.handOver(ctx)
	if err == nil {
		n.flush(ctx)
		n.members.post(membership.Stopped{})
		select {
		case <-n.life.done:
			if end := n.life.why(); !errors.Is(end, ErrLeft) && !errors.Is(end, ErrClosed) {
				return end
			}
			return nil
		case <-ctx.Done():
			err = fmt.Errorf("the members did not decide in time (%s): %w", n.members.waiting(), context.Cause(ctx))
		}
	}
	if n.life.why() == nil {
		n.reports.emit(events.ShutdownPhase{Phase: "leave", Took: time.Since(began), Err: err})
	}
	_ = n.Close()
	return fmt.Errorf("ddata: leave: %w", err)
}

// The phases before and after those that hand over.
var (
	servicePhases = []shutdown.Phase{
		shutdown.BeforeServiceUnbind, shutdown.ServiceUnbind, shutdown.ServiceRequestsDone, shutdown.ServiceStop,
		shutdown.BeforeClusterShutdown,
	}
	handOverPhases = []shutdown.Phase{shutdown.ClusterLeave, shutdown.ShardingShutdownRegion, shutdown.ClusterExiting}
	lastPhases     = []shutdown.Phase{shutdown.ClusterShutdown, shutdown.BeforeTerminate}
)

// flush waits until the others have received what this node has sent them: answers above all, and
// messages that it has passed on. From then on it may be dropped. A member that does not
// acknowledge anything, and may be dead, holds up nothing.
func (n *Node) flush(ctx context.Context) {
	began := time.Now()
	if err := n.net.Flush(ctx); err != nil {
		n.reports.emit(events.ShutdownPhase{Phase: "flush", Took: time.Since(began), Err: err})
	}
}

// departTimeout bounds how long a node that has left waits until the others send it nothing more.
const departTimeout = time.Second

// depart has the others end what they send to this node, which has left: what they have sent before
// is still passed on to where it belongs.
func (n *Node) depart() {
	ctx, cancel := context.WithTimeout(context.Background(), departTimeout)
	defer cancel()
	_ = n.net.Depart(ctx) // if not, they report as lost what they do not know of
}

// handOver says that the node leaves, and hands over what runs here, until ctx or the node itself
// ends.
func (n *Node) handOver(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-n.life.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	n.members.post(membership.Leave{})
	return n.phases.Run(ctx, handOverPhases...)
}

// OnShutdown registers a task for a phase of the node's end, whatever brings that about; see
// package shutdown. name says whose it is when it does not end in time. The task must not call
// Leave or Close. cancel takes it back.
func (n *Node) OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func()) {
	return n.phases.Add(phase, name, task)
}

// leaveOnSignal leaves when the process is told to end. A second signal has its usual effect.
func (n *Node) leaveOnSignal() {
	if n.cfg.LeaveOnSIGTERM == 0 {
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		defer signal.Stop(c)
		select {
		case <-c:
			signal.Stop(c)
			ctx, cancel := context.WithTimeout(context.Background(), n.cfg.LeaveOnSIGTERM)
			defer cancel()
			_ = n.Leave(ctx) // its failure is an event
		case <-n.life.done:
		}
	}()
}

// Down tells the cluster that a member is gone for good: an operator's word, to be carried out by a
// decision of the voters. It returns at once; watch the view to see it done. On a node that has
// ended it returns why that ended.
func (n *Node) Down(uid view.UID) error {
	if err := n.life.why(); err != nil {
		return fmt.Errorf("ddata: down %v: %w", uid, err)
	}
	if !n.View().Has(uid) {
		return fmt.Errorf("ddata: down %v: no such member in view %v", uid, n.View().Epoch)
	}
	n.members.post(membership.Down{UID: uid})
	return nil
}

// Close ends the node where it stands, without a word to the others: they see a crash. It waits
// until every goroutine of the node has ended and durable data is on disk. What runs on the node,
// such as entities, has a little time to stop; a handler that does not return runs on. Tasks of
// OnShutdown are run, except those that hand over. Close must not be called from a callback of the
// node.
func (n *Node) Close() error {
	n.finish(ErrClosed)
	<-n.life.done
	return nil
}

// finish ends the node, once. It returns at once; done is closed when everything is released.
func (n *Node) finish(err error) {
	if !n.life.beginEnd(err, n.lease.end) { // the lease before anything that runs under it hears of the end
		return
	}
	go func() {
		n.reports.emit(events.NodeEnded{Err: err, Warn: unexpected(err)})
		<-n.life.built
		if errors.Is(err, ErrLeft) {
			n.depart()
		}
		tellEnd(&n.watchers, err)
		_ = n.phases.Run(context.Background(), servicePhases...) // those that have not been
		_ = n.phases.Run(context.Background(), lastPhases...)
		n.release()
		n.life.becomeEnded()
	}()
}

// release stops what was started, from the top down, and waits for it.
func (n *Node) release() {
	if n.unmeter != nil {
		n.unmeter()
	}
	n.find.stop()
	if n.swim != nil {
		_ = n.swim.Shutdown()
	}
	if n.started {
		n.members.loop.Stop()
	}
	if n.members != nil && n.members.records != nil {
		n.members.records.stop()
	}
	if n.members != nil && n.members.arbiter != nil {
		if err := n.members.arbiter.close(); err != nil {
			n.reports.emit(events.ArbiterFailing{Reason: fmt.Sprintf("it could not be given back: %v", err)})
		}
	}
	if n.net != nil {
		_ = n.net.Close()
	}
	if n.started {
		for _, r := range n.replicas {
			r.stop()
		}
	}
	if n.disk != nil {
		n.disk.close()
	}
}
