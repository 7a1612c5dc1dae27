package sharding

import (
	"context"
	"fmt"
	"slices"
)

// StopShards stops shards for good, wherever they live: they are handed off as in any move, their
// entities stop, and no node hosts them afterwards until a message asks. One that messages wait for
// when it has stopped gets another home at once. So does one for which a node asked before, if its
// request comes late: nothing runs there until a message comes. A request to stop that is repeated
// while its answer is on its way may stop a shard that has a home again once more. StopShards
// returns when all have stopped and a majority of the role's nodes knows. Before, a shard handles
// what its mailboxes hold. If that takes longer than HandOff.FinishTimeout the shard goes on, and is
// stopped once more. When ctx ends before, StopShards returns the cause, and the shards are stopped
// all the same.
//
// A type that remembers entities is refused: what is remembered lives, so its shard has a home.
// Passivate its entities instead. So is a type with reminders.
//
// Errors: ErrConfig (Remember.Entities, Reminders.Enabled, or a shard that the type does not have), ErrStopped, ctx's.
func (g *Region[M]) StopShards(ctx context.Context, shards ...ShardID) error {
	return g.run.stopShards(ctx, shards)
}

func (run *engine) stopShards(ctx context.Context, shards []ShardID) error {
	c := run.control
	if c.Cfg.Remember.Entities {
		return fmt.Errorf("%w %q: its entities are remembered, so their shards cannot be stopped for good: passivate "+
			"the entities", ErrConfig, c.Cfg.Name)
	}
	if c.Cfg.Reminders {
		return fmt.Errorf("%w %q: its entities have reminders, for which their shards have to run, so these cannot be "+
			"stopped for good: passivate the entities", ErrConfig, c.Cfg.Name)
	}
	for _, s := range shards {
		if s >= ShardID(c.Cfg.Shards) {
			return fmt.Errorf("%w %q: shard %d of %d", ErrConfig, c.Cfg.Name, s, c.Cfg.Shards)
		}
	}
	if len(shards) == 0 {
		return nil
	}
	done, forget := c.StopShards(slices.Clone(shards))
	switch run.plane.Scheduler.Await(done, run.plane.Users.Closed(), ctx.Done()) {
	case 0:
		return nil
	case 1:
		return run.plane.Users.Err()
	}
	forget()
	return context.Cause(ctx)
}
