package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/replicator"
)

// The rows of one table, in their order:
//
//	'c'                   →  format, digest(16), clock     the head
//	'i' origin(8) seq(8)  →  format, item                  one per live item
//
// Integers outside of the clock and the item are big-endian.
const (
	format  = 1
	headRow = 'c'
	itemRow = 'i'

	itemKeyLen = 17
	digestLen  = 16
)

var headKey = []byte{headRow}

func itemKey(dst []byte, d crdt.Dot) []byte {
	dst = append(dst, itemRow)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.Origin))
	return binary.BigEndian.AppendUint64(dst, d.Seq)
}

// tablePrefix begins the names of the tables that hold replicas.
const tablePrefix = "replica/"

// Table is the name of the table of a role's replica.
func Table(role string) string { return tablePrefix + role }

// Role is the role whose replica a table holds; false for the tables of others.
func Role(table string) (string, bool) { return strings.CutPrefix(table, tablePrefix) }

// head is what the head row holds.
type head struct {
	clock  *crdt.Clock
	digest crdt.Digest
}

func (h head) row() durable.Row {
	v := append(make([]byte, 0, 64), format)
	v = binary.BigEndian.AppendUint64(v, h.digest[0])
	v = binary.BigEndian.AppendUint64(v, h.digest[1])
	return durable.Row{Key: headKey, Value: crdt.AppendClock(v, h.clock)}
}

// Of turns a batch into rows.
func Of(b replicator.Batch) []durable.Row {
	rows := make([]durable.Row, 0, len(b.Drop)+len(b.Put)+1)
	keys := make([]byte, 0, itemKeyLen*(len(b.Drop)+len(b.Put)))
	key := func(d crdt.Dot) []byte {
		at := len(keys)
		keys = itemKey(keys, d)
		return keys[at:len(keys):len(keys)]
	}
	for _, d := range b.Drop {
		rows = append(rows, durable.Row{Key: key(d)})
	}
	for _, it := range b.Put {
		rows = append(rows, durable.Row{Key: key(it.Dot), Value: crdt.AppendItem([]byte{format}, it)})
	}
	return append(rows, head{b.Clock, b.Digest}.row())
}

// errEnough ends a load of which the rest is not wanted.
var errEnough = errors.New("enough")

// Load says what a table holds, for replicator.New: the clock and the digest, and the items as they are read. The table must not change until the items
// have been read.
func Load(t durable.Table) (replicator.Loaded, error) {
	h, err := loadHead(t)
	if err != nil || h.clock == nil {
		return replicator.Loaded{}, err
	}
	items := func(yield func(crdt.Item, error) bool) {
		err := eachItem(t, func(it crdt.Item, _ durable.Row) error {
			if !yield(it, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(crdt.Item{}, err)
		}
	}
	return replicator.Loaded{Clock: h.clock, Digest: h.digest, Items: items}, nil
}

// loadHead reads the head row; an empty table has none, and gives a nil clock.
func loadHead(t durable.Table) (h head, err error) {
	err = t.Load(func(r durable.Row) error {
		body, err := body(r)
		if err != nil {
			return err
		}
		if r.Key[0] != headRow || len(r.Key) != len(headKey) {
			return fmt.Errorf("row %x stands where the clock should be", r.Key)
		}
		if len(body) < digestLen {
			return fmt.Errorf("row %x: %d bytes are too few", r.Key, len(body))
		}
		h.digest = crdt.Digest{binary.BigEndian.Uint64(body), binary.BigEndian.Uint64(body[8:])}
		if h.clock, err = crdt.DecodeClock(body[digestLen:]); err != nil {
			return fmt.Errorf("row %x: %w", r.Key, err)
		}
		return errEnough
	})
	if err == errEnough {
		err = nil
	}
	return h, err
}

// eachItem calls fn with every item and its row.
func eachItem(t durable.Table, fn func(crdt.Item, durable.Row) error) error {
	var key [itemKeyLen]byte
	return t.Load(func(r durable.Row) error {
		body, err := body(r)
		if err != nil {
			return err
		}
		if r.Key[0] == headRow && len(r.Key) == len(headKey) {
			return nil
		}
		it, err := crdt.DecodeItem(body)
		if err != nil {
			return fmt.Errorf("row %x: %w", r.Key, err)
		}
		if string(itemKey(key[:0], it.Dot)) != string(r.Key) {
			return fmt.Errorf("row %x holds %v", r.Key, it.Dot)
		}
		return fn(it, r)
	})
}

func body(r durable.Row) ([]byte, error) {
	if r.Value[0] != format {
		return nil, fmt.Errorf("row %x has format %d, this program knows %d", r.Key, r.Value[0], format)
	}
	return r.Value[1:], nil
}
