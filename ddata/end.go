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
// majority of the members is missing. A node that is not Up yet leaves without becoming Up if it has
// nothing to hand over. Messages for entities that were told on it wait until it is Up, and go then.
//
// Before the node says that it has stopped, it waits until the other members have received what it
// has sent; before it ends, it tells them what it has received. Leave returns nil when the node has
// left, or was closed before; a node that was downed meanwhile gives ErrDowned. What a service's
// task missed is told by the event ShutdownPhase, and holds up nothing.
func (n *Node) Leave(ctx context.Context) error {
	n.life.leaving.Store(true)
	began := time.Now()
	_ = n.end.phases.Run(ctx, servicePhases...)
	err := n.end.handOver(ctx)
	if err == nil {
		n.end.flush(ctx)
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

// OnShutdown registers a task for a phase of the node's end, whatever brings that about; see
// package shutdown. name says whose it is when it does not end in time. The task must not call
// Leave or Close. cancel takes it back.
func (n *Node) OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func()) {
	return n.end.phases.Add(phase, name, task)
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
	n.end.finish(ErrClosed)
	<-n.life.done
	return nil
}

// leaveOnSignal has a node leave, within limit, when the process is told to end; never if limit is 0.
// A second signal has its usual effect.
func leaveOnSignal(limit time.Duration, n *Node) {
	if limit == 0 {
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		defer signal.Stop(c)
		select {
		case <-c:
			signal.Stop(c)
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			_ = n.Leave(ctx) // its failure is an event
		case <-n.life.done:
		}
	}()
}
