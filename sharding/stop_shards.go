package sharding

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// StopShards stops shards for good, wherever they live: they are handed off as in any move, their
// entities stop, and no node hosts them afterwards until a message asks. One that messages wait for
// when it has stopped gets another home at once. StopShards returns when all have stopped and a
// majority of the role's nodes knows. When ctx ends before, it returns the cause, and the shards
// are stopped all the same.
//
// A type that remembers entities is refused: what is remembered lives, so its shard has a home.
// Passivate its entities instead.
//
// Errors: ErrConfig (RememberEntities, or a shard that the type does not have), ErrStopped, ctx's.
func (g *Region[M]) StopShards(ctx context.Context, shards ...int) error {
	c := g.run.control
	if c.cfg.Remember {
		return fmt.Errorf("%w %q: its entities are remembered, so their shards cannot be stopped for good: passivate the entities", ErrConfig, c.cfg.Type)
	}
	in := protocol.StopShards{Shards: make([]protocol.ShardID, len(shards))}
	for i, s := range shards {
		if s < 0 || s >= c.cfg.Shards {
			return fmt.Errorf("%w %q: shard %d of %d", ErrConfig, c.cfg.Type, s, c.cfg.Shards)
		}
		in.Shards[i] = protocol.ShardID(s)
	}
	if len(shards) == 0 {
		return nil
	}
	w := &stopWait{left: map[protocol.ShardID]bool{}, done: make(chan struct{})}
	for _, s := range in.Shards {
		w.left[s] = true
	}
	c.post(ctlInput{do: func(time.Time) {
		c.stopWaits = append(c.stopWaits, w)
		c.toRegion(in)
	}})
	select {
	case <-w.done:
		return nil
	case <-c.r.closed:
		return ErrStopped
	case <-ctx.Done():
		c.post(ctlInput{do: func(time.Time) { c.forgetStop(w) }})
		return context.Cause(ctx)
	}
}

// stopWait is one StopShards. It belongs to the control loop.
type stopWait struct {
	left map[protocol.ShardID]bool
	done chan struct{}
}

// atRest tells the callers that wait that shards have stopped for good.
func (c *control) atRest(shards []protocol.ShardID) {
	kept := c.stopWaits[:0]
	for _, w := range c.stopWaits {
		for _, s := range shards {
			delete(w.left, s)
		}
		if len(w.left) > 0 {
			kept = append(kept, w)
		} else {
			close(w.done)
		}
	}
	clear(c.stopWaits[len(kept):])
	c.stopWaits = kept
}

func (c *control) forgetStop(w *stopWait) {
	c.stopWaits = slices.DeleteFunc(c.stopWaits, func(x *stopWait) bool { return x == w })
}
