package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// find returns where a snapshot with a number is, or would be.
func find(of []persistence.Snapshot, seq uint64) (int, bool) {
	return slices.BinarySearchFunc(of, seq, func(s persistence.Snapshot, seq uint64) int {
		return cmp.Compare(s.Seq, seq)
	})
}

// SaveSnapshots implements persistence.Snapshots.
func (s *Store) SaveSnapshots(
	ctx context.Context, h persistence.Hosting, snapshots []persistence.Snapshot,
) (refused []persistence.Refusal, err error) {
	err = s.call(ctx, "SaveSnapshots", h, len(snapshots), func() error {
		if s.snapshots == nil {
			s.snapshots = map[entity][]persistence.Snapshot{}
		}
		for i, snapshot := range snapshots {
			if err := snapshot.Check(); err != nil {
				refused = append(refused, persistence.Refusal{Index: i, Err: err})
				continue
			}
			snapshot.Body = copied(snapshot.Body)
			of := s.snapshots[entity{h.Type, snapshot.Entity}]
			at, ok := find(of, snapshot.Seq)
			if ok {
				of[at] = snapshot
			} else {
				of = slices.Insert(of, at, snapshot)
			}
			s.snapshots[entity{h.Type, snapshot.Entity}] = of
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// copied is never nil: a snapshot without a body would count as damaged.
func copied(body []byte) []byte { return append([]byte{}, body...) }

// LoadSnapshots implements persistence.Snapshots.
func (s *Store) LoadSnapshots(
	ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(i int, s persistence.Snapshot) error,
) error {
	found := make([]*persistence.Snapshot, len(reads))
	err := s.call(ctx, "LoadSnapshots", h, len(reads), func() error {
		for i, r := range reads {
			of := s.snapshots[entity{h.Type, r.Entity}]
			n := len(of)
			if r.Below > 0 {
				n, _ = find(of, r.Below)
			}
			if n > 0 {
				snapshot := of[n-1]
				snapshot.Body = bytes.Clone(snapshot.Body)
				found[i] = &snapshot
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, snapshot := range found {
		if snapshot == nil {
			continue
		}
		if err := each(i, *snapshot); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSnapshots implements persistence.Snapshots.
func (s *Store) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return s.call(ctx, "DeleteSnapshots", h, 0, func() error {
		of := s.snapshots[entity{h.Type, id}]
		n, found := find(of, upTo)
		if found {
			n++
		}
		if n > 0 {
			s.snapshots[entity{h.Type, id}] = slices.Clone(of[n:])
		}
		return nil
	})
}
