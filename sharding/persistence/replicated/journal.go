package replicated

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Limits of this store, beside those of the port.
const (
	// WriteMax bounds the bytes of the events of one write: a write is one transaction.
	WriteMax = 24 << 20
	// batchBytes and batchItems are from where a call goes on with another transaction.
	batchBytes = 4 << 20
	batchItems = crdt.EventsMax / 4
)

// prepared is a write as it is stored.
type prepared struct {
	index  int // in the call
	write  persistence.Write
	by     written
	events [][]string // the payloads of each
	items  int
	bytes  int
}

func prepare(i int, h persistence.Hosting, w persistence.Write) (p prepared, err error) {
	if err := w.Check(); err != nil {
		return p, err
	}
	if err := isEntity(w.Entity); err != nil {
		return p, err
	}
	p = prepared{index: i, write: w, by: writtenBy(h, w.ID, w.After)}
	for i, e := range w.Events {
		c := record{name: e.Name, version: e.Version, at: e.At, tags: e.Tags, body: e.Body}
		if i == 0 {
			c.by = p.by
		}
		payloads := c.encode()
		for _, one := range payloads {
			p.bytes += len(one)
		}
		p.items += len(payloads)
		p.events = append(p.events, payloads)
	}
	if p.bytes > WriteMax {
		return p, fmt.Errorf("%w: the events of entity %v have %d bytes, want at most %d in one write",
			persistence.ErrTooLarge, w.Entity, p.bytes, WriteMax)
	}
	return p, nil
}

// Append implements persistence.Journal.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	if err := begin(ctx, h, len(writes)); err != nil {
		return nil, err
	}
	sh := s.shard(keyOf(h))
	var batch []prepared
	items, bytes, stored := 0, 0, false
	flush := func() error {
		more, err := sh.append(ctx, h, batch)
		if stored && errors.Is(err, persistence.ErrFenced) { // which would say that nothing was stored
			err = fmt.Errorf("replicated: some writes were stored, and the others were not: %v", err)
		}
		refused, stored = append(refused, more...), stored || len(more) < len(batch)
		batch, items, bytes = nil, 0, 0
		return err
	}
	for i, w := range writes {
		p, err := prepare(i, h, w)
		if err != nil {
			refused = append(refused, persistence.Refusal{Index: i, Err: err})
			continue
		}
		if len(batch) > 0 && (items+p.items > batchItems || bytes+p.bytes > batchBytes) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, items, bytes = append(batch, p), items+p.items, bytes+p.bytes
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return refused, nil
}

// append puts some writes into one transaction.
func (sh *shard) append(
	ctx context.Context, h persistence.Hosting, batch []prepared,
) (refused []persistence.Refusal, err error) {
	err = sh.transact(ctx, h, ddata.WriteMajority, func(v view, tx *crdt.Tx) (changed bool, err error) {
		refused = nil
		for _, p := range batch {
			of, err := historyOf(v, p.write.Entity)
			if err != nil {
				return false, err
			}
			stored, err := of.fit(p.write, p.by)
			if err != nil {
				refused = append(refused, persistence.Refusal{Index: p.index, Err: err})
				continue
			}
			changed = true // a repeated write, too, is settled with this transaction
			if stored {
				continue
			}
			for i, payloads := range p.events {
				at := numbered(of.path, eventSub, p.write.After+uint64(i)+1)
				if err := putRecord(v, tx, at, payloads); err != nil {
					return false, err
				}
			}
		}
		return changed, nil
	})
	return refused, err
}

// putRecord puts the items of a record. Those at their paths, which do not count, go.
func putRecord(v view, tx *crdt.Tx, path string, payloads []string) error {
	for i, payload := range payloads {
		at := path
		if i > 0 {
			at = part(path, i)
		}
		if err := tx.Put(at, payload, dots(v.r.At(at))); err != nil {
			return err
		}
	}
	return nil
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
