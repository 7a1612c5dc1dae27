package lmdb

import (
	"bytes"
	"context"
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func snapshotRow(typ string, s persistence.Snapshot) durable.Row {
	key := refOf(typ, s.Entity).keyAt(kindSnapshot, s.Seq)
	v := value{name: s.Name, version: s.Version, at: s.At}
	return durable.Row{Key: key, Value: sealed(key, cbor.AppendBytes(v.appendHead(cbor.AppendArray(nil, 4)), s.Body))}
}

// readSnapshot reads the row of a snapshot. One that is damaged has no body.
func readSnapshot(id protocol.EntityID, row durable.Row) persistence.Snapshot {
	s := persistence.Snapshot{Entity: id, Seq: seqOf(row.Key)}
	array, err := unseal(row.Key, row.Value)
	if err != nil {
		return s
	}
	var v value
	r := cbor.NewReader(array)
	r.Tuple(4)
	v.readHead(r)
	body := r.Bytes(persistence.BodyMax) // not nil, also when it is empty
	if r.End() != nil {
		return s
	}
	s.Name, s.Version, s.At, s.Body = v.name, v.version, v.at, body
	return s
}

// SaveSnapshots implements persistence.Snapshots.
func (s *Store) SaveSnapshots(
	ctx context.Context, h persistence.Hosting, snapshots []persistence.Snapshot,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(snapshots)); err != nil {
		return nil, err
	}
	next := 0
	err = s.write(ctx, h, func(_ *disk.Moment, b *batch) (more bool, err error) {
		for ; next < len(snapshots) && b.bytes < batchBytes; next++ {
			snapshot := snapshots[next]
			err := checkID(snapshot.Entity)
			if err == nil {
				err = snapshot.Check()
			}
			if err != nil {
				refused = append(refused, persistence.Refusal{Index: next, Err: err})
				continue
			}
			b.add(snapshotRow(h.Type, snapshot))
		}
		return next < len(snapshots), nil
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// LoadSnapshots implements persistence.Snapshots. each must not call the store.
func (s *Store) LoadSnapshots(
	ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(i int, s persistence.Snapshot) error,
) error {
	if err := persistence.CheckCall(h, len(reads)); err != nil {
		return err
	}
	return s.read(ctx, h, func(v *disk.Moment) error {
		for i, r := range reads {
			of, below := refOf(h.Type, r.Entity), r.Below
			if below == 0 {
				below = math.MaxUint64
			}
			prefix := of.key(kindSnapshot)
			err := v.Descend(of.keyAt(kindSnapshot, below), func(row durable.Row) (more bool, err error) {
				if bytes.HasPrefix(row.Key, prefix) {
					err = each(i, readSnapshot(r.Entity, row))
				}
				return false, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteSnapshots implements persistence.Snapshots.
func (s *Store) DeleteSnapshots(
	ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64,
) error {
	if err := persistence.CheckCall(h, 1); err != nil {
		return err
	}
	of := refOf(h.Type, id)
	prefix := of.key(kindSnapshot)
	return s.write(ctx, h, func(v *disk.Moment, b *batch) (more bool, err error) {
		err = v.Ascend(of.keyAt(kindSnapshot, 0), func(row durable.Row) (bool, error) {
			if !bytes.HasPrefix(row.Key, prefix) || seqOf(row.Key) > upTo {
				return false, nil
			}
			b.remove(bytes.Clone(row.Key))
			more = len(b.rows) == deleteMax
			return !more, nil
		})
		return more, err
	})
}
