package replicated

import (
	"context"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var _ persistence.Snapshots = (*Store)(nil)

// SaveSnapshots implements persistence.Snapshots.
func (s *Store) SaveSnapshots(
	ctx context.Context, h persistence.Hosting, snapshots []persistence.Snapshot,
) (refused []persistence.Refusal, err error) {
	return s.save(ctx, h, len(snapshots), func(i int) (c change, err error) {
		one := snapshots[i]
		if err := one.Check(); err != nil {
			return c, err
		}
		payloads := record{name: one.Name, version: one.Version, at: one.At, body: one.Body}.encode()
		return change{entity: one.Entity, payloads: payloads, apply: func(v view, tx *crdt.Tx) error {
			at := numbered(entityPath(one.Entity), snapshotSub, one.Seq)
			// The one in its place goes with the next one of the entity: this transaction may not count.
			if err := tx.Drop(at, dots(olderSnapshots(v, one.Entity))); err != nil {
				return err
			}
			return putParts(tx, at, payloads)
		}}, nil
	})
}

// saved is the snapshots of an entity that count, of one number the last, by number.
func saved(v view, id protocol.EntityID) (out []*crdt.Item, settled bool) {
	path := entityPath(id)
	settled = true
	var forgotten []*crdt.Item // marks
	for it := range v.r.Items(path + forgottenSub) {
		if v.counts(it) {
			forgotten, settled = append(forgotten, it), settled && v.isSettled(it.Dot)
		}
	}
	for it := range v.r.Items(path + snapshotSub) {
		n, first := numberOf(it.Path)
		if !first || !v.counts(it) || isForgotten(v, it, n, forgotten) {
			continue
		}
		settled = settled && v.isSettled(it.Dot)
		if last := len(out) - 1; last < 0 || out[last].Path != it.Path {
			out = append(out, it)
		} else if v.later(it, out[last]) {
			out[last] = it
		}
	}
	return out, settled
}

// isForgotten reports whether a later mark says that a snapshot is deleted.
func isForgotten(v view, it *crdt.Item, seq uint64, marks []*crdt.Item) bool {
	for _, m := range marks {
		if upTo, _ := numberOf(m.Path); seq <= upTo && v.later(m, it) {
			return true
		}
	}
	return false
}

// olderSnapshots returns the items of an entity's snapshots that others have replaced for good, those
// that do not count, and what was deleted.
func olderSnapshots(v view, id protocol.EntityID) (out []*crdt.Item) {
	path := entityPath(id)
	alive, settled := saved(v, id)
	if !settled {
		return nil
	}
	keep := map[crdt.Dot]bool{}
	for _, it := range alive {
		keep[it.Dot] = true
		for i := 1; ; i++ {
			more := partOf(v.r, it, i)
			if more == nil {
				break
			}
			keep[more.Dot] = true
		}
	}
	for _, sub := range []string{forgottenSub, snapshotSub} {
		for it := range v.r.Items(path + sub) {
			if !keep[it.Dot] {
				out = append(out, it)
			}
		}
	}
	return out
}

// LoadSnapshots implements persistence.Snapshots.
func (s *Store) LoadSnapshots(
	ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(i int, s persistence.Snapshot) error,
) error {
	if err := begin(ctx, h, len(reads)); err != nil {
		return err
	}
	var of view
	found := make([]*crdt.Item, len(reads))
	if err := s.shard(keyOf(h)).load(ctx, h, func(v view) (settled bool, err error) {
		of, settled = v, true
		for i, r := range reads {
			found[i] = nil
			if isEntity(r.Entity) != nil {
				continue
			}
			all, sure := saved(v, r.Entity)
			settled = settled && sure
			for _, it := range all {
				if n, _ := numberOf(it.Path); r.Below == 0 || n < r.Below {
					found[i] = it
				}
			}
		}
		return settled, nil
	}); err != nil {
		return err
	}
	for i, it := range found {
		if it == nil {
			continue
		}
		seq, _ := numberOf(it.Path)
		c, err := decode(of.r, it)
		one := persistence.Snapshot{
			Entity: reads[i].Entity, Seq: seq, Name: c.name, Version: c.version, Body: c.body, At: c.at,
		}
		if err != nil {
			one.Body = nil // it is damaged
		}
		if err := each(i, one); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSnapshots implements persistence.Snapshots. See Delete for why it takes two transactions.
func (s *Store) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	if err := begin(ctx, h, 0); err != nil {
		return err
	}
	if isEntity(id) != nil {
		return nil
	}
	sh := s.shard(keyOf(h))
	if err := sh.transact(ctx, h, ddata.WriteMajority, func(v view, tx *crdt.Tx) (changed bool, err error) {
		all, _ := saved(v, id)
		if len(all) == 0 {
			return false, nil
		}
		if first, _ := numberOf(all[0].Path); first > upTo {
			return false, nil
		}
		return true, tx.Put(numbered(entityPath(id), forgottenSub, upTo), mark{number: upTo}.encode(), nil)
	}); err != nil {
		return err
	}
	_ = sh.transact(ctx, h, ddata.WriteLocal, func(v view, tx *crdt.Tx) (changed bool, err error) {
		remains := olderSnapshots(v, id)
		return len(remains) > 0, tx.Drop(entityPath(id), dots(remains))
	})
	return nil
}
