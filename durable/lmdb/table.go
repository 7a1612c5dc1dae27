package lmdb

import (
	"sync/atomic"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// table is one named database, which comes into being with its first batch.
type table struct {
	env  *Env
	name string
	dbi  atomic.Uint32 // an lmdb.DBI; 0: it is not in the file. Set by the writer
}

var _ durable.Table = (*table)(nil)

// Load implements durable.Table: one view, so that it sees one moment. While it runs the file can
// not give back pages, and a map that is full waits.
func (t *table) Load(fn func(durable.Row) error) error {
	if t.env.writer.isClosed() {
		return closedError(t.env.dir)
	}
	h, dbi := t.env.h.Load(), lmdb.DBI(t.dbi.Load())
	if h == nil || dbi == 0 {
		return nil
	}
	t.env.loads <- struct{}{}
	defer func() { <-t.env.loads }()

	var stopped error // what fn said, to be told apart from what LMDB said
	err := h.view(func(txn *lmdb.Txn) error {
		cur, err := txn.OpenCursor(dbi)
		if err != nil {
			return err
		}
		defer cur.Close()
		stopped, err = eachRow(txn, cur, fn)
		return err
	})
	if stopped != nil {
		return stopped
	}
	return fault(h.file, err)
}

// eachRow hands every row to fn until it fails. It copies the bytes to the same place for each row.
// fn must not get LMDB's own memory: that may not be written to, which the law does not forbid fn,
// and it dies with the transaction without a trace. A fn that keeps the copy is soon found out.
func eachRow(txn *lmdb.Txn, cur *lmdb.Cursor, fn func(durable.Row) error) (stopped, err error) {
	txn.RawRead = true // safe for values that are not empty, which ours never are
	var row durable.Row
	for {
		k, v, err := cur.Get(nil, nil, lmdb.Next) // the first Next is First
		if lmdb.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		row.Key, row.Value = append(row.Key[:0], k...), append(row.Value[:0], v...)
		if err := fn(row); err != nil {
			return err, nil
		}
	}
}

// Commit implements durable.Table.
func (t *table) Commit(rows []durable.Row, done func(error)) {
	t.env.writer.commit(t, rows, done)
}
