package lmdb

import (
	"errors"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// table is one named database.
type table struct {
	env  *Env
	dbi  lmdb.DBI
	name string
}

var _ durable.Table = (*table)(nil)

// Load implements durable.Table: one view, so that it sees one moment. While it runs the file can not give back pages, and a map that is full waits.
func (t *table) Load(fn func(durable.Row) error) error {
	t.env.loads <- struct{}{}
	defer func() { <-t.env.loads }()

	var stopped error // what fn said, to be told apart from what LMDB said
	err := t.env.h.view(func(txn *lmdb.Txn) error {
		cur, err := txn.OpenCursor(t.dbi)
		if err != nil {
			return err
		}
		defer cur.Close()
		for {
			k, v, err := cur.Get(nil, nil, lmdb.Next) // the first Next is First
			if lmdb.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if stopped = fn(durable.Row{Key: k, Value: v}); stopped != nil {
				return errStopped
			}
		}
	})
	if stopped != nil {
		return stopped
	}
	return fault(t.env.h.file, err)
}

var errStopped = errors.New("load was stopped by its caller")

// Commit implements durable.Table.
func (t *table) Commit(rows []durable.Row, done func(error)) {
	t.env.writer.commit(t.dbi, rows, done)
}
