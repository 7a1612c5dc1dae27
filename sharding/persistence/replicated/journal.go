package replicated

import (
	"context"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Append implements persistence.Journal.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	return s.save(ctx, h, len(writes), func(i int) (change, error) { return appending(h, writes[i]) })
}

// appending is the change of a write.
func appending(h persistence.Hosting, w persistence.Write) (change, error) {
	if err := w.Check(); err != nil {
		return change{}, err
	}
	by := writtenBy(h, w.ID, w.After)
	c := change{entity: w.Entity}
	events := make([][]string, len(w.Events))
	for i, e := range w.Events {
		one := record{name: e.Name, version: e.Version, at: e.At, tags: e.Tags, body: e.Body}
		if i == 0 {
			one.by = by
		}
		events[i] = one.encode()
		c.payloads = append(c.payloads, events[i]...)
	}
	c.apply = func(v view, tx *crdt.Tx) error {
		of, err := historyOf(v, w.Entity)
		if err != nil {
			return err
		}
		for i, payloads := range events {
			at := numbered(of.path, eventSub, w.After+uint64(i)+1)
			there := v.r.At(at)
			if i == 0 {
				if stored, err := of.fit(w, by, there); stored || err != nil {
					return err
				}
			}
			// What stands there does not count.
			if err := tx.Drop(at, dots(there)); err != nil {
				return err
			}
			if err := putParts(tx, at, payloads); err != nil {
				return err
			}
		}
		return nil
	}
	return c, nil
}

// Load implements persistence.Journal.
func (s *Store) Load(
	ctx context.Context, h persistence.Hosting, reads []persistence.Read, each func(i int, e persistence.Event) error,
) ([]persistence.End, error) {
	if err := begin(ctx, h, len(reads)); err != nil {
		return nil, err
	}
	ends, found := make([]persistence.End, len(reads)), make([][]*crdt.Item, len(reads))
	var of view
	err := s.shard(keyOf(h)).load(ctx, h, func(v view) (settled bool, err error) {
		of, settled = v, true
		for i, r := range reads {
			found[i], ends[i] = nil, persistence.End{}
			if isEntity(r.Entity) != nil {
				continue // it has none
			}
			its, err := historyOf(v, r.Entity)
			if err != nil {
				return false, err
			}
			ends[i] = its.each(r.After, func(it *crdt.Item) { found[i] = append(found[i], it) })
			settled = settled && !its.open
		}
		return settled, nil
	})
	if err != nil {
		return nil, err
	}
	for i, items := range found {
		for _, it := range items {
			e, err := eventOf(of.r, it)
			if err == nil {
				err = each(i, e)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return ends, nil
}

func eventOf(r crdt.Reader, it *crdt.Item) (persistence.Event, error) {
	c, err := decode(r, it)
	seq, _ := numberOf(it.Path)
	return persistence.Event{
		Seq: seq, Name: c.name, Version: c.version, Body: c.body, Tags: c.tags, At: c.at,
	}, err
}

// Delete implements persistence.Journal. It marks the events first, and drops them in another
// transaction: what a transaction drops is gone even if the transaction itself does not count.
func (s *Store) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	if err := begin(ctx, h, 0); err != nil {
		return err
	}
	if isEntity(id) != nil {
		return nil
	}
	sh := s.shard(keyOf(h))
	if err := sh.transact(ctx, h, ddata.WriteMajority, func(v view, tx *crdt.Tx) (changed bool, err error) {
		of, err := historyOf(v, id)
		if err != nil || upTo <= of.deleted.number {
			return false, err
		}
		m := mark{number: min(upTo, of.end(upTo))}
		if m.number == of.deleted.number {
			return false, nil
		}
		last, err := of.lastWrite(of.end(m.number))
		if err != nil {
			return false, err
		}
		if last.after < m.number {
			m.by = last
		}
		return true, tx.Put(of.path+deletedSub, m.encode(), nil)
	}); err != nil {
		return err
	}
	// What stays when this fails goes with the next deletion.
	_ = sh.transact(ctx, h, ddata.WriteLocal, func(v view, tx *crdt.Tx) (changed bool, err error) {
		of, err := historyOf(v, id)
		if err != nil || of.open {
			return false, err
		}
		remains := of.remains(of.deleted.number)
		return len(remains) > 0, tx.Drop(of.path, dots(remains))
	})
	return nil
}
