package remind

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Store keeps the reminders of one entity type. Its methods may be called concurrently. What was
// answered nil is there for every later call of any node, and, if reminders are to survive a stop of
// all nodes, after it. An error says that the call may or may not have taken effect, in whole or in
// part, perhaps later.
//
// A call is made within the limits of the port. What is returned is the caller's. What is given is
// not changed any more.
//
// Each call of a shard carries the token by of its hosting. After one of them was answered nil, no call
// of the shard with a lower token has an effect, whenever it was begun. One that is begun afterwards gets
// ErrFenced. So the first look of a hosting, which is Due, ends what the hostings before have yet to do. The
// zero token is that of a tool, while no node of the type runs: nothing fences it, and it fences nothing. Nodes
// use it to read the record of package rehash, which is a reminder of a shard beyond all others.
//
// The hosting numbers its updates, from 1, and has one under way at a time: a call that was given up may
// still be on its way when the next one is made. After an Update has taken effect, none of the hosting with
// a lower number has an effect, whenever it was begun; one that is begun afterwards gets ErrOvertaken. One
// with the same number is a repetition. Of a tool the number does not count.
//
// A store in which late calls do no harm, or which resolves them in a way of its own, need not look at
// tokens and numbers. It says so, and what comes of late calls. The region hears of them by Watch.
type Store interface {
	// Due is the first reminders of a shard whose At is not after until, in the order of At, at most
	// limit; and the At of the one that follows them, zero if there is none. ErrDamaged says that
	// one of them cannot be read, and comes with the others. It costs as much as what it returns,
	// and not as the set.
	Due(
		ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
	) ([]Reminder, time.Time, error)
	// Of is the reminders of one entity, by name. ErrDamaged says that one of them cannot be read, and
	// comes with the others. It costs as much as what it returns.
	Of(
		ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
	) ([]Reminder, error)
	// All is the reminders of a shard behind a key, in an order that depends on the keys alone: the next ones,
	// at most limit. last is the key of the last one that was looked at, and zero if there is none behind
	// after. The zero key is before all. ErrDamaged says that one of them cannot be read, and comes with the
	// others. It costs as much as what it returns.
	All(
		ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after Key, limit int,
	) (all []Reminder, last Key, err error)
	// Update makes changes, in their order. It can be repeated: the second of two equal calls in a
	// row changes nothing. It costs as much as what it changes.
	Update(
		ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []Change,
	) error
	// Watch has fn called for every shard that has reminders, and after every change of a shard,
	// whatever made it, until cancel is called. any reports whether the shard has reminders. It may
	// be late, and tell of several changes at once; what it tells last of a shard is so. fn does not
	// wait.
	//
	// By it a coordinator knows which shards to start with no traffic, also after all nodes were
	// stopped. And a region hears of a late call of the one before, if the store lets that have an effect.
	Watch(fn func(shard protocol.ShardID, any bool)) (cancel func())
}
