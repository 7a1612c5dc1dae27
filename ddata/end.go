package ddata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/sight"
)

// Leave leaves the cluster gracefully: the view lists the node as Leaving, everything that was registered with
// BeforeLeave hands over, the others decide a view without it, and the node ends with ErrLeft. When that takes longer than
// timeout, the node is closed where it stands and the error says what was missing; the others then treat it as crashed.
// It returns nil when the node has left, or was closed before; a node that was downed meanwhile gives ErrDowned.
func (n *Node) Leave(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	n.members.post(membership.Leave{})
	err := n.handOver(ctx)
	if err == nil {
		n.members.post(membership.Stopped{})
		select {
		case <-n.done:
			return n.left()
		case <-ctx.Done():
			err = fmt.Errorf("the members did not decide in time (%s)", n.members.waiting())
		}
	}
	_ = n.Close()
	return fmt.Errorf("ddata: leave within %v: %w", timeout, err)
}

func (n *Node) left() error {
	if err := n.endReason(); !errors.Is(err, ErrLeft) && !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// handOver runs the hooks of BeforeLeave side by side.
func (n *Node) handOver(ctx context.Context) error {
	n.mu.Lock()
	hooks := slices.Collect(maps.Values(n.leavers))
	n.mu.Unlock()
	errs := make([]error, len(hooks))
	var wg sync.WaitGroup
	for i, hook := range hooks {
		wg.Go(func() { errs[i] = hook(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Down tells the cluster that a member is gone for good: an operator's word, to be carried out by a decision of the
// voters. It returns at once; watch the view to see it done. On a node that has ended it returns why that ended.
func (n *Node) Down(uid membership.UID) error {
	if err := n.endReason(); err != nil {
		return fmt.Errorf("ddata: down %v: %w", uid, err)
	}
	if !n.View().Has(uid) {
		return fmt.Errorf("ddata: down %v: no such member in view %v", uid, n.View().Epoch)
	}
	n.members.post(membership.Down{UID: uid})
	return nil
}

// Close ends the node where it stands, without a word to the others: they see a crash. It waits until every goroutine of
// the node has ended and durable data is on disk; what stands on the node, such as entities, has got a little time to stop, and a handler that
// does not return runs on. It must not be called from a callback of the node.
func (n *Node) Close() error {
	n.finish(ErrClosed)
	<-n.done
	return nil
}

// finish ends the node, once. It returns at once; done is closed when everything is released.
func (n *Node) finish(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		return
	}
	n.ended = err
	n.over.Store(true)
	n.lease.Store(&membership.Lease{})
	go func() {
		n.Emit(sight.NodeEnded{Err: err, Warn: errors.Is(err, ErrDowned)})
		n.sayEnd(err)
		n.release()
		close(n.done)
	}()
}

// sayEnd calls the watchers' End side by side and waits for them: they stop what stands on the node.
func (n *Node) sayEnd(err error) {
	var wg sync.WaitGroup
	n.tell(func(w Watcher) {
		if w.End != nil {
			wg.Go(func() { w.End(err) })
		}
	})
	wg.Wait()
}

// endReason says why the node is ending, or has ended; nil while it runs.
func (n *Node) endReason() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// release stops what was started, from the top down, and waits for it.
func (n *Node) release() {
	n.find.stop()
	if n.swim != nil {
		_ = n.swim.Shutdown()
	}
	if n.started {
		n.members.loop.Stop()
	}
	if n.members != nil && n.members.arbiter != nil {
		if err := n.members.arbiter.close(); err != nil {
			n.log.Warn("the arbiter's lease could not be given back", "err", err)
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
