package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func (c *control) linkChanged(e transport.LinkEvent) {
	if e.Up && e.Lane == transport.Data && e.Generation > 1 {
		c.post(ctlInput{region: protocol.LinkUp{Peer: protocol.UID(e.Peer)}})
	}
}

func (c *control) leaseChanged(held bool) {
	c.r.leaseChanged(held)
	in := protocol.Lease{Held: held}
	c.post(ctlInput{region: in})
	if c.coord != nil {
		c.coord.post(in)
	}
}

func (c *control) reachable(uid membership.UID, ok bool) {
	if c.coord != nil {
		c.coord.post(protocol.Reachable{UID: uid, OK: ok})
	}
}

// viewInstalled passes a view on; nil, or one without this node, ends everything that runs here.
func (c *control) viewInstalled(v *membership.View) {
	if v == nil {
		c.r.endLease(ErrStopped)
		c.post(ctlInput{region: protocol.Dropped{}})
		return
	}
	in := protocol.Install{View: v}
	c.post(ctlInput{do: func(time.Time) {
		c.view = v
		c.toRegion(in)
	}})
	if c.coord != nil {
		c.coord.post(in)
	}
	c.r.asks.sweep(c.r.clock(), func(n uint64) bool { return !v.Has(membership.UID(n)) })
}

// hostedShards lists the shards that run here.
func (c *control) hostedShards() []*shard {
	all := make([]*shard, 0, 16)
	for i := range c.r.table.hosted {
		if s := c.r.table.hosted[i].Load(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// leave hands all shards over.
func (run *engine) leave(ctx context.Context) error {
	c := run.control
	c.post(ctlInput{region: protocol.Leave{}})
	select {
	case <-c.left:
		return nil
	case <-run.core.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sharding %q: shards are still here: %w", run.core.name, context.Cause(ctx))
	}
}

// onCancel keeps what ends a registration, for close.
func (run *engine) onCancel(cancel func()) {
	run.mu.Lock()
	if !run.ended {
		run.cancels = append(run.cancels, cancel)
		cancel = func() {}
	}
	run.mu.Unlock()
	cancel()
}

func (run *engine) unregister() {
	run.mu.Lock()
	run.ended = true
	cancels := run.cancels
	run.cancels = nil
	run.mu.Unlock()
	for _, cancel := range slices.Backward(cancels) {
		cancel()
	}
}

// close stops everything. The order matters: first nothing comes in any more, then the machines stop, then what is left is dropped.
func (run *engine) close(ctx context.Context) (err error) {
	run.once.Do(func() {
		r, c := run.core, run.control
		close(r.closed)
		c.asideMu.Lock()
		run.cancel()
		c.asideMu.Unlock()
		run.unregister()
		r.sweep.stop()
		if c.coord != nil {
			c.coord.stop()
		}
		killed := make(chan struct{})
		c.post(ctlInput{do: func(time.Time) {
			c.killAll()
			close(killed)
		}})
		<-killed
		r.endLease(ErrStopped)
		r.asks.failAll(ErrStopped)
		r.resumeSuspended()
		running := r.pool.drain(ctx)
		err = errors.Join(running, c.returnLeases(ctx))
		c.loop.Stop()
		r.overflow.cancel()
		r.overflow.ended.Wait()
		c.asides.Wait()
		run.closed(running == nil)
	})
	return err
}

// closed lets the type be started again on the node, not before the last handler has returned: it would be a second life of its entity.
func (run *engine) closed(ended bool) {
	switch {
	case run.onClose == nil:
	case ended:
		run.onClose()
	default:
		go func() {
			run.core.pool.ended.Wait()
			run.onClose()
		}()
	}
}

// killAll drops everything that is hosted or buffered.
func (c *control) killAll() {
	c.closed = true
	for number := range c.shards {
		c.killShard(c.shards[number], DropStopped)
	}
	c.r.closeRoutes()
	clear(c.flushes)
	clear(c.fences)
	c.retryAt = time.Time{}
}
