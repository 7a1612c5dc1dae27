package rehash

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Layout says to which shard an id belongs.
type Layout struct {
	Shards  int
	ShardOf string // the function's name
}

// String prints it.
func (l Layout) String() string { return fmt.Sprintf("%d shards by %s", l.Shards, l.ShardOf) }

// has reports whether a shard is one of the layout.
func (l Layout) has(shard protocol.ShardID) bool { return int64(shard) < int64(l.Shards) }

// record says how the reminders of a store lie: by a layout, or, while they are being moved, in shards up to a
// number.
type record struct {
	layout Layout // without ShardOf while they are being moved
	move   move   // the zero value: none is under way
	// version is that of the reminder. A writer changes only the version that it has read.
	version uint64
}

// move is one that is under way.
type move struct {
	// by is the token by which all movers call: what has called before the stop of all nodes is below it, and what
	// calls since then is above.
	by    singleton.FencingToken
	round uint32 // of movers
}

// settled reports whether the reminders lie by a layout.
func (r record) settled(l Layout) bool { return r.layout == l && r.move == move{} }

// RecordShard is the shard of the record: no entity belongs to it.
const RecordShard protocol.ShardID = protocol.ShardsMax

// recordID is the entity of the record, and its name.
const recordID = "layout"

// shardOfMax bounds the name of a function.
const shardOfMax = 128

// read reads the record. Its version is 0 if there is none.
func read(ctx context.Context, s remind.Store) (r record, err error) {
	found, err := s.Of(ctx, singleton.FencingToken{}, RecordShard, recordID)
	if err != nil || len(found) == 0 {
		return r, err
	}
	r, err = decode(found[0].Body)
	r.version = found[0].Version
	return r, err
}

// write writes the record that follows the one of its version.
func write(ctx context.Context, s remind.Store, by singleton.FencingToken, number uint64, r record) error {
	never := time.Date(2261, 1, 1, 0, 0, 0, 0, time.UTC)
	return s.Update(ctx, by, RecordShard, number, []remind.Change{{If: r.version, Reminder: remind.Reminder{
		Entity: recordID, Name: recordID, Due: never, At: never, Version: r.version + 1, Body: encode(r),
	}}})
}

// encode makes the body of the record: [shards, function, round, and of the token era, epoch, up and seq]. Without
// a move the round and the token are 0.
func encode(r record) []byte {
	by := r.move.by
	b := cbor.AppendUint(cbor.AppendArray(nil, fields), uint64(r.layout.Shards))
	b = cbor.AppendText(b, r.layout.ShardOf)
	return cbor.AppendUints(b, uint64(r.move.round), uint64(by.Era), uint64(by.Epoch), uint64(by.Up), by.Seq)
}

// fields is how many encode writes.
const fields = 7

func decode(b []byte) (r record, err error) {
	rd := cbor.NewReader(b)
	rd.Tuple(fields)
	r.layout = Layout{Shards: int(rd.UintMax(protocol.ShardsMax)), ShardOf: rd.Text(shardOfMax)}
	r.move.round = rd.Uint32()
	r.move.by = singleton.FencingToken{
		Era: view.Era(rd.UintMax(math.MaxUint64)), Epoch: view.Epoch(rd.UintMax(math.MaxUint64)), Up: rd.Uint32(),
		Seq: rd.UintMax(math.MaxUint64),
	}
	if err := rd.End(); err != nil {
		return record{}, fmt.Errorf("%w: the record of the layout: %w", remind.ErrDamaged, err)
	}
	return r, nil
}
