package replicated

import (
	"context"
	"encoding/binary"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// list lists a shard among those of its type, at a majority. That precedes the first seat of the
// shard. So a majority read of the list finds each shard that has something.
func (s *Store) list(ctx context.Context, h persistence.Hosting) error {
	path := string(binary.BigEndian.AppendUint32([]byte(pathListed), uint32(h.Shard)))
	payload := string(cbor.AppendUint(cbor.AppendArray(nil, 1), uint(format)))
	return s.r.Update(ctx, listKey(h.Type), ddata.WriteMajority, func(tx *crdt.Tx) error {
		return tx.Replace(path, payload)
	})
}

// listed returns the shards of a type, in order.
func (s *Store) listed(ctx context.Context, typ string) (out []protocol.ShardID, err error) {
	level := ddata.ReadMajority
	if s.planted.openReads {
		level = ddata.ReadLocal
	}
	r, err := s.r.Get(ctx, listKey(typ), level)
	if err != nil {
		return nil, err
	}
	for it := range r.Items(pathListed) {
		in := opened(it.Payload, 1)
		if err := in.End(); err != nil {
			return nil, damaged(it, err)
		}
		tail := it.Path[len(pathListed):]
		if len(tail) != 4 {
			continue
		}
		shard := protocol.ShardID(binary.BigEndian.Uint32([]byte(tail)))
		if last := len(out) - 1; last < 0 || out[last] != shard {
			out = append(out, shard)
		}
	}
	return out, nil
}
