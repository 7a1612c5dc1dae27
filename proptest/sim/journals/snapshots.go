package journals

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// spot is a snapshot that is stored.
type spot struct {
	typ string
	id  protocol.EntityID
	seq uint64
}

// damage is what is wrong with a snapshot.
type damage uint8

const (
	intact  damage = iota
	noticed        // the store says that it is damaged
	cutOff         // its end is missing, which the store does not notice
	lost
	damages
)

// SaveSnapshots implements persistence.Snapshots.
func (d *Door) SaveSnapshots(ctx context.Context, h persistence.Hosting, snapshots []persistence.Snapshot,
) (refused []persistence.Refusal, err error) {
	s, own := d.s, slices.Clone(snapshots)
	for i := range own {
		own[i].Body = bytes.Clone(own[i].Body)
	}
	err = d.call(ctx, "SaveSnapshots", h, func(part bool) error {
		if part {
			own = own[:s.rng.IntN(len(own)+1)]
		}
		if refused, err = s.kept.SaveSnapshots(context.Background(), s.planted.hosting(h), own); err != nil {
			return s.refused(err)
		}
		for _, x := range own {
			delete(s.spoilt, spot{h.Type, x.Entity, x.Seq})
			s.watcher.Saved(h, x)
			if random.Chance(s.rng, s.faults.Damages) {
				at := spot{h.Type, x.Entity, x.Seq}
				s.w.After(time.Duration(random.Between(s.rng, 0, int64(spoilMost))), nil, func() { s.spoil(at) })
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// spoil damages a snapshot, or loses it.
func (s *Store) spoil(at spot) {
	if s.w.Healed() || s.faults.Cautious && !s.spare(at) {
		return
	}
	s.spoilt[at] = 1 + damage(s.rng.IntN(int(damages)-1))
	s.counts.Spoilt++
	s.trace.Fault(s.w, "CHAOS damages the snapshot of %s/%v after %d: %d", at.typ, at.id, at.seq, s.spoilt[at])
}

// spare reports whether a snapshot may be spoilt although events are deleted: there is another one,
// and no other one is spoilt.
func (s *Store) spare(at spot) bool {
	others := 0
	for _, x := range s.stored(at.typ, at.id) {
		if x.Seq == at.seq {
			continue
		}
		if others++; s.spoilt[spot{at.typ, at.id, x.Seq}] != intact {
			return false
		}
	}
	return others > 0
}

// stored are the snapshots of an entity, damaged or not, the newest first.
func (s *Store) stored(typ string, id protocol.EntityID) (all []persistence.Snapshot) {
	h := persistence.Hosting{Type: typ, Token: highest}
	for below, more := uint64(0), true; more; {
		more = false
		err := s.kept.LoadSnapshots(context.Background(), h, []persistence.SnapshotRead{{Entity: id, Below: below}},
			func(_ int, x persistence.Snapshot) error {
				all, below, more = append(all, x), x.Seq, x.Seq > 1
				return nil
			})
		if err != nil {
			panic(err) // no token is above this one
		}
	}
	return all
}

// LoadSnapshots implements persistence.Snapshots.
func (d *Door) LoadSnapshots(ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(i int, s persistence.Snapshot) error) error {
	reads = slices.Clone(reads)
	found := make([]*persistence.Snapshot, len(reads))
	err := d.call(ctx, "LoadSnapshots", h, func(bool) error {
		if err := d.s.kept.LoadSnapshots(context.Background(), d.s.planted.hosting(h), nil, nil); err != nil {
			return d.s.refused(err)
		}
		for i, r := range reads {
			found[i] = d.s.newest(h.Type, r)
		}
		return nil
	}, nil)
	if err != nil {
		return err
	}
	for i, x := range found {
		if x == nil {
			continue
		}
		if err := each(i, *x); err != nil {
			return err
		}
	}
	return nil
}

// newest is the snapshot that a read finds; nil: none.
func (s *Store) newest(typ string, r persistence.SnapshotRead) *persistence.Snapshot {
	for _, x := range s.stored(typ, r.Entity) {
		if r.Below > 0 && x.Seq >= r.Below {
			continue
		}
		switch s.spoilt[spot{typ, r.Entity, x.Seq}] {
		case lost:
			continue
		case noticed:
			x.Body = nil
		case cutOff:
			x.Body = x.Body[:len(x.Body)-1]
		}
		return &x
	}
	return nil
}

// DeleteSnapshots implements persistence.Snapshots.
func (d *Door) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return d.call(ctx, "DeleteSnapshots", h, func(bool) error {
		return d.s.refused(d.s.kept.DeleteSnapshots(context.Background(), d.s.planted.hosting(h), id, upTo))
	}, nil)
}
