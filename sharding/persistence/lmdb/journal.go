package lmdb

import (
	"bytes"
	"context"
	"fmt"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// WriteBytesMax bounds the bodies of one write, in bytes.
const WriteBytesMax = 64 << 20

func checkID(id protocol.EntityID) error {
	if len(id) > IDMax {
		return fmt.Errorf("%w: the id of an entity has %d bytes, want at most %d",
			persistence.ErrTooLarge, len(id), IDMax)
	}
	return nil
}

func checkWrite(w persistence.Write) error {
	if err := checkID(w.Entity); err != nil {
		return err
	}
	if err := w.Check(); err != nil {
		return err
	}
	n := 0
	for _, e := range w.Events {
		n += len(e.Body)
	}
	if n > WriteBytesMax {
		return fmt.Errorf("%w: entity %v: a write has %d bytes, want at most %d",
			persistence.ErrTooLarge, w.Entity, n, WriteBytesMax)
	}
	return nil
}

// Append implements persistence.Journal. Its errors match those of package durable, too.
func (s *Store) Append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(writes)); err != nil {
		return nil, err
	}
	next := 0
	err = s.write(ctx, h, func(v *disk.Moment, b *batch) (more bool, err error) {
		for ; next < len(writes) && b.bytes < batchBytes; next++ {
			if err := b.append(v, h, writes[next]); err != nil {
				refused = append(refused, persistence.Refusal{Index: next, Err: err})
			}
		}
		return next < len(writes), nil
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// append adds the rows of a write, or none if it was stored before.
func (b *batch) append(v *disk.Moment, h persistence.Hosting, w persistence.Write) error {
	if err := checkWrite(w); err != nil {
		return err
	}
	at, err := readHead(v, h.Type, w.Entity)
	if err != nil {
		return err
	}
	now := writtenBy(h, w.ID, w.After)
	switch {
	case at.end.Last > 0 && at.last == now:
		return nil
	case at.end.Last != w.After:
		return conflict(w.Entity, at.end.Last, w.After)
	}
	of := refOf(h.Type, w.Entity)
	for i, e := range w.Events {
		e.Seq = w.After + uint64(i) + 1
		b.events = append(b.events, pending{typ: h.Type, row: len(b.rows), entry: entryValue(w.Entity, e.Seq)})
		b.add(eventRow(of, e))
	}
	at.end.Last += uint64(len(w.Events))
	at.last = now
	b.add(at.row(h.Type, w.Entity))
	return nil
}

func conflict(id protocol.EntityID, last, after uint64) error {
	return fmt.Errorf("%w: entity %v is at %d, the write is after %d", persistence.ErrConflict, id, last, after)
}

// Load implements persistence.Journal. each must not call the store.
func (s *Store) Load(
	ctx context.Context, h persistence.Hosting, reads []persistence.Read, each func(i int, e persistence.Event) error,
) ([]persistence.End, error) {
	if err := persistence.CheckCall(h, len(reads)); err != nil {
		return nil, err
	}
	ends := make([]persistence.End, len(reads))
	err := s.read(ctx, h, func(v *disk.Moment) error {
		for i, r := range reads {
			at, err := readHead(v, h.Type, r.Entity)
			if err != nil {
				return err
			}
			ends[i] = at.end
			err = eachEvent(ctx, v, h.Type, r, at.end, func(e persistence.Event) error { return each(i, e) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ends, nil
}

// eachEvent calls fn for the events that a read asks for.
func eachEvent(
	ctx context.Context, v *disk.Moment, typ string, r persistence.Read, end persistence.End,
	fn func(persistence.Event) error,
) error {
	seq, of := max(r.After, end.Deleted), refOf(typ, r.Entity)
	prefix := of.key(kindEvent)
	if seq >= end.Last {
		return nil
	}
	err := v.Ascend(of.keyAt(kindEvent, seq+1), func(row durable.Row) (more bool, err error) {
		if !bytes.HasPrefix(row.Key, prefix) || seqOf(row.Key) != seq+1 {
			return false, nil
		}
		e, _, err := readEvent(row)
		if err != nil {
			return false, eventError(typ, r.Entity, seqOf(row.Key), err)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		seq++
		return seq < end.Last, fn(e)
	})
	if err == nil && seq < end.Last {
		err = eventError(typ, r.Entity, seq+1, fmt.Errorf("%w: it is missing", persistence.ErrDamaged))
	}
	return err
}

func eventError(typ string, id protocol.EntityID, seq uint64, err error) error {
	return fmt.Errorf("event %d of entity %v of %q: %w", seq, id, typ, err)
}

// deleteMax bounds the events that one commit deletes.
const deleteMax = 1000

// Delete implements persistence.Journal. Many events go in several commits, from the oldest on.
func (s *Store) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	if err := persistence.CheckCall(h, 1); err != nil {
		return err
	}
	return s.write(ctx, h, func(v *disk.Moment, b *batch) (more bool, err error) {
		at, err := readHead(v, h.Type, id)
		if err != nil || at.end.Deleted >= min(upTo, at.end.Last) {
			return false, err
		}
		of, last := refOf(h.Type, id), min(upTo, at.end.Last, at.end.Deleted+deleteMax)
		prefix := of.key(kindEvent)
		err = v.Ascend(of.keyAt(kindEvent, at.end.Deleted+1), func(row durable.Row) (more bool, err error) {
			if !bytes.HasPrefix(row.Key, prefix) || seqOf(row.Key) > last {
				return false, nil
			}
			if _, number, err := readEvent(row); err == nil { // else a reader passes over what it meets there
				b.remove(entryKey(h.Type, number))
			}
			b.remove(bytes.Clone(row.Key))
			return true, nil
		})
		at.end.Deleted = last
		b.add(at.row(h.Type, id))
		return last < min(upTo, at.end.Last), err
	})
}
