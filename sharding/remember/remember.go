package remember

import (
	"context"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// ErrFenced is the error of Load and Update when a later hosting of the shard has called. The region
// gives up what it wanted to write.
var ErrFenced = protocol.ErrFenced

// Store keeps the ids of one entity type. Its methods may be called concurrently. All of them can
// be repeated: the second of two equal calls in a row changes nothing. What was answered nil is
// there for every later call of any node, and, if entities are to survive a stop of all nodes,
// after it. An error says that the call may or may not have taken effect, in whole or in part, and
// a call has no effect after it has returned.
//
// Each call carries the token by of its caller: of the hosting of the shard, or of the coordinator's
// term, which is above those of all hostings before. After a Load or an Update of a shard was
// answered nil, each Load and Update of the shard with a lower token gets ErrFenced and has no effect,
// whenever it was begun. In a List a shard stays as it is if a higher token has listed it, or taken it
// off. The zero token is that of a tool, while no node of the type runs: nothing fences it, and it
// fences nothing. A Watcher, and a store that only tools use, need not look at tokens.
type Store interface {
	// Shards is every shard that was put on the list and not taken off it. It may hold others: a
	// store that can tell from its sets which shards have ids may do nothing in List.
	Shards(ctx context.Context, by singleton.FencingToken) ([]protocol.ShardID, error)
	// List puts shards on the list and takes others off it. No shard is in both.
	List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error
	// Load is the set of a shard, each id once, in no order; nothing if there never was one.
	Load(ctx context.Context, by singleton.FencingToken, shard protocol.ShardID) ([]protocol.EntityID, error)
	// Update puts ids into the set of a shard and takes others out of it. No id is in both. It
	// should cost as much as what it changes, and not as the set.
	Update(
		ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
	) error
}

// Scheduled is a Store that waits, and reads the clock, by the scheduler of a node. A region calls the
// Store that On returns.
type Scheduled interface {
	Store
	// On is the same store, for calls that run on a scheduler.
	On(s scheduler.Scheduler) Store
}

// Tidier is a Store with work that no call waits for, such as snapshots. A region has it done after
// the calls that made it due were answered. What is not done costs no id.
type Tidier interface {
	Store
	// Tidy does what is due. Its calls may overlap each other and all others. It logs what fails.
	Tidy(ctx context.Context)
}

// Watcher is a Store whose sets may change while a region hosts the shard: the last call of a
// region that died may take effect after the next one has loaded the set. A region that is told of
// a change adds again what runs and has vanished, and starts what has appeared.
type Watcher interface {
	Store
	// Watch has fn called after every change of a set, whatever made it, until cancel is called. fn
	// does not wait.
	Watch(fn func(shard protocol.ShardID, changed protocol.IDsChanged)) (cancel func())
}
