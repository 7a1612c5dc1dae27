package remind

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Store keeps the reminders of one entity type. Its methods may be called concurrently. What was
// answered nil is there for every later call of any node, and, if reminders are to survive a stop of
// all nodes, after it. An error says that the call may or may not have taken effect, in whole or in
// part, perhaps later.
//
// A call is made within the limits of the port. What is returned is the caller's. What is given is
// not changed any more.
type Store interface {
	// Due is the first reminders of a shard whose At is not after until, in the order of At, at most
	// limit; and the At of the one that follows them, zero if there is none. ErrDamaged says that
	// one of them cannot be read, and comes with the others. It costs as much as what it returns,
	// and not as the set.
	Due(ctx context.Context, shard protocol.ShardID, until time.Time, limit int) ([]Reminder, time.Time, error)
	// Of is the reminders of one entity, by name. It costs as much as what it returns.
	Of(ctx context.Context, shard protocol.ShardID, id protocol.EntityID) ([]Reminder, error)
	// Update makes changes, in their order. It can be repeated: the second of two equal calls in a
	// row changes nothing. It costs as much as what it changes.
	Update(ctx context.Context, shard protocol.ShardID, changes []Change) error
	// Watch has fn called for every shard that has reminders, and after every change of a shard,
	// whatever made it, until cancel is called. any reports whether the shard has reminders. It may
	// be late, and tell of several changes at once; what it tells last of a shard is so. fn does not
	// wait.
	//
	// By it a coordinator knows which shards to start with no traffic, also after all nodes were
	// stopped. And a region hears of a late call of the one before, which may have died.
	Watch(fn func(shard protocol.ShardID, any bool)) (cancel func())
}
