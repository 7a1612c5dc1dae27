package ddata

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// disk is a node's directory: the rows of its replicators, and a table of its own with two rows, the id of the
// directory and the last view.
type disk struct {
	env    *lmdb.Env
	node   durable.Table
	id     membership.DiskID // drawn once, when the directory is made
	record []byte            // the membership's record as it was found
}

// Rows of the table "node".
const (
	nodeTable  = "node"
	nodeFormat = 1
)

var (
	diskIDKey = []byte("disk")
	recordKey = []byte("membership")
)

func openDisk(dir string) (*disk, error) {
	env, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return nil, fmt.Errorf("ddata: Config.Dir: %w", err)
	}
	d := &disk{env: env}
	if err := d.load(); err != nil {
		d.close()
		return nil, fmt.Errorf("ddata: Config.Dir %s: %w", dir, err)
	}
	return d, nil
}

func (d *disk) load() (err error) {
	if d.node, err = d.env.Table(nodeTable); err != nil {
		return err
	}
	err = d.node.Load(func(r durable.Row) error {
		if r.Value[0] != nodeFormat {
			return fmt.Errorf("row %q has format %d, this program knows %d", r.Key, r.Value[0], nodeFormat)
		}
		switch body := r.Value[1:]; string(r.Key) {
		case string(diskIDKey):
			if len(body) != 8 {
				return fmt.Errorf("row %q has %d bytes", r.Key, len(body))
			}
			d.id = membership.DiskID(binary.BigEndian.Uint64(body))
		case string(recordKey):
			d.record = append([]byte(nil), body...)
		}
		return nil
	})
	if err != nil || d.id != 0 {
		return err
	}
	d.id = membership.DiskID(rand.Uint64() | 1)
	return d.put(diskIDKey, binary.BigEndian.AppendUint64(nil, uint64(d.id)))
}

// table is the table of that name.
func (d *disk) table(name string) (durable.Table, error) { return d.env.Table(name) }

// putRecord stores the membership's record and waits until it is durable: a view must not be announced before.
func (d *disk) putRecord(record []byte) error { return d.put(recordKey, record) }

func (d *disk) put(key, value []byte) error {
	done := make(chan error, 1)
	d.node.Commit([]durable.Row{{Key: key, Value: append([]byte{nodeFormat}, value...)}}, func(err error) { done <- err })
	return <-done
}

func (d *disk) close() { _ = d.env.Close() }
