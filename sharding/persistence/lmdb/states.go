package lmdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func stateRow(h persistence.Hosting, w persistence.StateWrite) durable.Row {
	key := refOf(h.Type, w.Entity).key(kindState)
	s := w.Stored()
	v := value{name: s.Name, version: s.Version, tags: s.Tags, body: s.Body, at: s.At}
	b := cbor.AppendBytes(cbor.AppendBytes(cbor.AppendArray(nil, 10), h.Type), string(w.Entity))
	b = cbor.AppendBool(cbor.AppendUint(b, s.Revision), s.Deleted)
	b = cbor.AppendBytes(v.appendTags(v.appendHead(b)), v.body)
	return durable.Row{Key: key, Value: sealed(key, writtenBy(h, w.ID, w.After).append(b))}
}

// readState reads the state of an entity: that of revision 0 if it never had one.
func readState(v *disk.Moment, typ string, id protocol.EntityID) (s persistence.State, last written, err error) {
	r, err := get(v, refOf(typ, id).key(kindState))
	if err == nil && r != nil {
		var v value
		r.Tuple(10)
		_, _ = r.Bytes(persistence.NameMax), r.Bytes(IDMax)
		s.Revision, s.Deleted = r.Uint(), r.Bool()
		v.readHead(r)
		v.readTags(r)
		v.body = r.Bytes(persistence.BodyMax)
		s.Name, s.Version, s.At, s.Tags, s.Body = v.name, v.version, v.at, v.tags, v.body
		last = readWritten(r)
		err = ended(r)
	}
	if err != nil {
		return persistence.State{}, written{}, fmt.Errorf("the state of entity %v of %q: %w", id, typ, err)
	}
	return s, last, nil
}

// replace adds the row of a state, or none if it was stored before.
func (b *batch) replace(v *disk.Moment, h persistence.Hosting, w persistence.StateWrite) error {
	if err := checkID(w.Entity); err != nil {
		return err
	}
	if err := w.Check(); err != nil {
		return err
	}
	at, last, err := readState(v, h.Type, w.Entity)
	if err != nil {
		return err
	}
	switch {
	case at.Revision > 0 && last == writtenBy(h, w.ID, w.After):
		return nil
	case at.Revision != w.After:
		return conflict(w.Entity, at.Revision, w.After)
	}
	b.add(stateRow(h, w))
	return nil
}

// SaveStates implements persistence.States.
func (s *Store) SaveStates(
	ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) (refused []persistence.Refusal, err error) {
	if err := persistence.CheckCall(h, len(writes)); err != nil {
		return nil, err
	}
	next := 0
	err = s.write(ctx, h, func(v *disk.Moment, b *batch) (more bool, err error) {
		for ; next < len(writes) && b.bytes < batchBytes; next++ {
			if err := b.replace(v, h, writes[next]); err != nil {
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

// LoadStates implements persistence.States. each must not call the store.
func (s *Store) LoadStates(
	ctx context.Context, h persistence.Hosting, ids []protocol.EntityID,
	each func(i int, s persistence.State) error,
) error {
	if err := persistence.CheckCall(h, len(ids)); err != nil {
		return err
	}
	var damaged []error
	err := s.read(ctx, h, func(v *disk.Moment) error {
		for i, id := range ids {
			state, _, err := readState(v, h.Type, id)
			switch {
			case errors.Is(err, persistence.ErrDamaged):
				damaged = append(damaged, err)
				continue
			case err == nil && state.Revision > 0:
				err = each(i, state)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(damaged...)
}
