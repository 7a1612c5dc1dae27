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

// change is what one element of a call does.
type change struct {
	index    int // in the call
	entity   protocol.EntityID
	payloads []string // of all items that it puts
	bytes    int
	// apply puts the items, or finds that they are stored. It fails before it changes anything. An
	// error that refuses the element leaves the others of the call.
	apply func(v view, tx *crdt.Tx) error
}

// check returns ErrTooLarge for a change that is above a limit, and counts its bytes.
func (c *change) check() error {
	if err := isEntity(c.entity); err != nil {
		return err
	}
	for _, one := range c.payloads {
		c.bytes += len(one)
	}
	if c.bytes > WriteMax {
		return fmt.Errorf("%w: a write of entity %v has %d bytes, want at most %d",
			persistence.ErrTooLarge, c.entity, c.bytes, WriteMax)
	}
	return nil
}

// save makes the changes of a call, in as many transactions as their sizes need.
func (s *Store) save(
	ctx context.Context, h persistence.Hosting, elements int, prepare func(i int) (change, error),
) (refused []persistence.Refusal, err error) {
	if err := begin(ctx, h, elements); err != nil {
		return nil, err
	}
	sh := s.shard(keyOf(h))
	var batch []change
	items, bytes, stored := 0, 0, false
	flush := func() error {
		more, err := sh.save(ctx, h, batch)
		if stored && errors.Is(err, persistence.ErrFenced) { // which would say that nothing was stored
			err = fmt.Errorf("replicated: some writes were stored, and the others were not: %v", err)
		}
		refused, stored = append(refused, more...), stored || len(more) < len(batch)
		batch, items, bytes = nil, 0, 0
		s.planted.reached("flushed")
		return err
	}
	for i := range elements {
		c, err := prepare(i)
		if err == nil {
			err = c.check()
		}
		if err != nil {
			refused = append(refused, persistence.Refusal{Index: i, Err: err})
			continue
		}
		c.index = i
		if len(batch) > 0 && (items+len(c.payloads) > batchItems || bytes+c.bytes > batchBytes) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, items, bytes = append(batch, c), items+len(c.payloads), bytes+c.bytes
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return refused, nil
}

// save makes some changes in one transaction. A change that is stored already is settled with it.
func (sh *shard) save(
	ctx context.Context, h persistence.Hosting, batch []change,
) (refused []persistence.Refusal, err error) {
	err = sh.transact(ctx, h, ddata.WriteMajority, func(v view, tx *crdt.Tx) (changed bool, err error) {
		refused = nil
		for _, c := range batch {
			switch err := c.apply(v, tx); {
			case errors.Is(err, persistence.ErrConflict), errors.Is(err, persistence.ErrDamaged):
				refused = append(refused, persistence.Refusal{Index: c.index, Err: err})
			case err != nil:
				return false, err
			default:
				changed = true
			}
		}
		return changed, nil
	})
	return refused, err
}

// putParts puts the items of a record, one event after the other.
func putParts(tx *crdt.Tx, path string, payloads []string) error {
	for i, payload := range payloads {
		at := path
		if i > 0 {
			at = part(path, i)
		}
		if err := tx.Put(at, payload, nil); err != nil {
			return err
		}
	}
	return nil
}
