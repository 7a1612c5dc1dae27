package lmdb

import (
	"bytes"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// Moment reads a table as of one moment. It is valid during the function that got it only, and for
// one goroutine.
type Moment struct {
	txn  *lmdb.Txn // nil: the table is empty
	dbi  lmdb.DBI
	file string // for messages
}

// Moment calls fn with what is in a table of this Env: every batch answered nil before the call, and
// none in part. Its error is that of fn, or of the store. What durable.Table says of the function
// of a Load holds for fn, too: it must not wait for a Commit, nor call Load, Moment, Table or Close.
func (e *Env) Moment(of durable.Table, fn func(*Moment) error) error {
	t := of.(*table)
	if e.writer.isClosed() {
		return closedError(e.dir)
	}
	h, dbi := e.h.Load(), lmdb.DBI(t.dbi.Load())
	if h == nil || dbi == 0 {
		return fn(&Moment{})
	}
	e.loads <- struct{}{}
	defer func() { <-e.loads }()

	var stopped error
	err := h.view(func(txn *lmdb.Txn) error {
		txn.RawRead = true // safe for values that are not empty, which ours never are; all are copied below
		stopped = fn(&Moment{txn: txn, dbi: dbi, file: h.file})
		return nil
	})
	if stopped != nil {
		return stopped
	}
	return fault(h.file, err)
}

// Get returns the value of a key, nil if there is none. It is the caller's.
func (m *Moment) Get(key []byte) ([]byte, error) {
	if m.txn == nil {
		return nil, nil
	}
	value, err := m.txn.Get(m.dbi, key)
	if lmdb.IsNotFound(err) {
		return nil, nil
	}
	return bytes.Clone(value), fault(m.file, err)
}

// Ascend calls fn for the rows from a key on, in key order, until it reports false or fails. The
// slices are valid during the call of fn only.
func (m *Moment) Ascend(from []byte, fn func(durable.Row) (more bool, err error)) error {
	return m.scan(fn, func(cur *lmdb.Cursor) ([]byte, []byte, error) {
		return cur.Get(from, nil, lmdb.SetRange)
	}, lmdb.Next)
}

// Descend calls fn for the rows below a key, from the highest one on, until it reports false or
// fails. The slices are valid during the call of fn only.
func (m *Moment) Descend(below []byte, fn func(durable.Row) (more bool, err error)) error {
	return m.scan(fn, func(cur *lmdb.Cursor) ([]byte, []byte, error) {
		_, _, err := cur.Get(below, nil, lmdb.SetRange)
		if lmdb.IsNotFound(err) {
			return cur.Get(nil, nil, lmdb.Last)
		}
		if err != nil {
			return nil, nil, err
		}
		return cur.Get(nil, nil, lmdb.Prev)
	}, lmdb.Prev)
}

// scan hands rows to fn, from where first finds one. It copies the bytes, as eachRow does.
func (m *Moment) scan(
	fn func(durable.Row) (bool, error), first func(*lmdb.Cursor) (k, value []byte, err error), step uint,
) error {
	if m.txn == nil {
		return nil
	}
	cur, err := m.txn.OpenCursor(m.dbi)
	if err != nil {
		return fault(m.file, err)
	}
	defer cur.Close()
	var row durable.Row
	k, value, err := first(cur)
	for ; err == nil; k, value, err = cur.Get(nil, nil, step) {
		row.Key, row.Value = append(row.Key[:0], k...), append(row.Value[:0], value...)
		if more, err := fn(row); err != nil || !more {
			return err
		}
	}
	if lmdb.IsNotFound(err) {
		return nil
	}
	return fault(m.file, err)
}
