package replicated

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var _ persistence.States = (*Store)(nil)

// SaveStates implements persistence.States.
func (s *Store) SaveStates(
	ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) (refused []persistence.Refusal, err error) {
	return s.save(ctx, h, len(writes), func(i int) (change, error) {
		w := writes[i]
		if err := w.Check(); err != nil {
			return change{}, err
		}
		by, s := writtenBy(h, w.ID, w.After), w.Stored()
		payloads := record{
			name: s.Name, version: s.Version, at: s.At, tags: s.Tags, deleted: s.Deleted, by: by, body: s.Body,
		}.encode()
		return change{entity: w.Entity, payloads: payloads, apply: func(v view, tx *crdt.Tx) error {
			return replaceState(v, tx, w, by, payloads)
		}}, nil
	})
}

// replaceState puts a state behind the present one, which goes with the next one: this transaction
// may not count.
func replaceState(v view, tx *crdt.Tx, w persistence.StateWrite, by written, payloads []string) error {
	at, revision := stateOf(v, w.Entity)
	if at != nil && w.After < math.MaxUint64 && revision == w.After+1 {
		c, err := decode(v.r, at)
		if err != nil {
			return err
		}
		if c.by == by {
			return nil
		}
	}
	if revision != w.After || w.After == math.MaxUint64 {
		return fmt.Errorf("%w: entity %v is at revision %d, the write is after %d",
			persistence.ErrConflict, w.Entity, revision, w.After)
	}
	path := entityPath(w.Entity)
	if at == nil || v.isSettled(at.Dot) {
		var old []*crdt.Item
		for it := range v.r.Items(path + stateSub) {
			if n, _ := numberOf(it.Path); n != revision || !v.counts(it) {
				old = append(old, it)
			}
		}
		if err := tx.Drop(path, dots(old)); err != nil {
			return err
		}
	}
	return putParts(tx, numbered(path, stateSub, w.After+1), payloads)
}

// stateOf returns the first item of an entity's state, and its revision; nil if it never had one.
func stateOf(v view, id protocol.EntityID) (at *crdt.Item, revision uint64) {
	for it := range v.r.Items(entityPath(id) + stateSub) {
		if n, first := numberOf(it.Path); first && v.counts(it) {
			at, revision = it, n
		}
	}
	return at, revision
}

// LoadStates implements persistence.States.
func (s *Store) LoadStates(
	ctx context.Context, h persistence.Hosting, ids []protocol.EntityID, each func(i int, s persistence.State) error,
) error {
	if err := begin(ctx, h, len(ids)); err != nil {
		return err
	}
	var of view
	found := make([]*crdt.Item, len(ids))
	if err := s.shard(keyOf(h)).load(ctx, h, func(v view) (settled bool, err error) {
		of, settled = v, true
		for i, id := range ids {
			if found[i] = nil; isEntity(id) != nil {
				continue
			}
			if found[i], _ = stateOf(v, id); found[i] != nil {
				settled = settled && v.isSettled(found[i].Dot)
			}
		}
		return settled, nil
	}); err != nil {
		return err
	}
	var faults []error
	for i, it := range found {
		if it == nil {
			continue
		}
		revision, _ := numberOf(it.Path)
		c, err := decode(of.r, it)
		if err != nil {
			faults = append(faults, fmt.Errorf("entity %v: %w", ids[i], err))
			continue
		}
		if err := each(i, persistence.State{
			Revision: revision, Deleted: c.deleted,
			Name: c.name, Version: c.version, Body: c.body, Tags: c.tags, At: c.at,
		}); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}
