package lmdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Bounds of a page: what a reader looks at in one view of the file.
const (
	pageEntries = 512
	pageBytes   = 1 << 20
)

// page is what a reader has found, and the number after which it goes on.
type page struct {
	found []found
	after uint64
	bytes int
	met   int
}

// found is an event, or what is wrong with it.
type found struct {
	persistence.Recorded
	broken error
}

// Events implements persistence.Reader. Between two events no view of the file is open.
func (s *Store) Events(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		at, err := parseOffset(q.After)
		if err == nil {
			err = q.Check()
		}
		for err == nil {
			if err = ctx.Err(); err != nil {
				break
			}
			var p page
			more := s.feed.more()
			if p, err = s.page(q, at); err != nil {
				break
			}
			for _, f := range p.found {
				if !yield(f.Recorded, f.broken) {
					return
				}
			}
			at = p.after
			if p.met > 0 {
				continue
			}
			if !q.Live {
				return
			}
			select {
			case <-ctx.Done():
			case <-more:
			}
		}
		if !q.Live || ctx.Err() == nil {
			yield(persistence.Recorded{}, err)
		}
	}
}

// page reads what comes after a number.
func (s *Store) page(q persistence.Query, at uint64) (page, error) {
	p := page{after: at}
	prefix := entryKey(q.Type, 0)
	prefix = prefix[:len(prefix)-8]
	err := s.env.Moment(s.table, func(v *disk.Moment) error {
		return v.Ascend(entryKey(q.Type, at+1), func(row durable.Row) (more bool, err error) {
			if !bytes.HasPrefix(row.Key, prefix) {
				return false, nil
			}
			if err := p.meet(v, q, row); err != nil {
				return false, err
			}
			return p.met < pageEntries && p.bytes < pageBytes, nil
		})
	})
	return p, fault(err)
}

// meet adds the event of an entry if a query asks for it.
func (p *page) meet(v *disk.Moment, q persistence.Query, row durable.Row) error {
	number := seqOf(row.Key)
	id, seq, err := readEntry(row)
	if err != nil {
		return fmt.Errorf("entry %d of %q: %w", number, q.Type, err)
	}
	p.after = number
	p.met++
	if !q.HasSlice(persistence.SliceOf(string(id))) {
		return nil
	}
	e, there, err := eventOf(v, q.Type, id, seq)
	f := found{broken: err}
	switch {
	case errors.Is(err, persistence.ErrDamaged):
		e = persistence.Event{Seq: seq}
	case err != nil || !there || q.Tag != "" && !slices.Contains(e.Tags, q.Tag):
		return err
	}
	p.bytes += len(e.Body)
	offset := persistence.Offset(strconv.FormatUint(number, 10))
	f.Recorded = persistence.Recorded{Entity: id, Event: e, Offset: offset}
	p.found = append(p.found, f)
	return nil
}

// eventOf returns an event. It is not found if it was deleted.
func eventOf(v *disk.Moment, typ string, id protocol.EntityID, seq uint64) (persistence.Event, bool, error) {
	key := refOf(typ, id).keyAt(kindEvent, seq)
	stored, err := v.Get(key)
	if err != nil {
		return persistence.Event{}, false, err
	}
	if stored != nil {
		e, _, err := readEvent(durable.Row{Key: key, Value: stored})
		if err != nil {
			err = eventError(typ, id, seq, err)
		}
		return e, true, err
	}
	at, err := readHead(v, typ, id)
	if err == nil && seq > at.end.Deleted {
		err = eventError(typ, id, seq, fmt.Errorf("%w: it is missing", persistence.ErrDamaged))
	}
	return persistence.Event{}, false, err
}

func parseOffset(o persistence.Offset) (uint64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(o), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("lmdb: %q is no offset of this store", string(o))
	}
	return n, nil
}
