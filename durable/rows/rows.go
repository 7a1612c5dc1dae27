package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
)

// The rows of one table, in their order:
//
//	'c'                   →  format, counts, digest(16), clock     the head
//	'd' number(8)         →  format, clock                         a mark: rows that do not count, when counts says so
//	'i' origin(8) seq(8)  →  format, item                          one per live item, and those that do not count
//
// Integers outside of the clock and the item are big-endian. counts is storage.Counts.
const (
	format  = 2
	headRow = 'c'
	markRow = 'd'
	itemRow = 'i'

	itemKeyLen = 17
	markKeyLen = 9
	digestLen  = 16
)

var headKey = []byte{headRow}

func itemKey(dst []byte, d crdt.Dot) []byte {
	dst = append(dst, itemRow)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.Origin))
	return binary.BigEndian.AppendUint64(dst, d.Seq)
}

func markKey(dst []byte, no int) []byte {
	return binary.BigEndian.AppendUint64(append(dst, markRow), uint64(no))
}

// What begins the names of the tables that hold replicas: of users' data, and of reserved data.
const (
	userPrefix     = "replica/"
	reservedPrefix = "reserved/"
)

// Table is the name of the table of a dataset's replica.
func Table(of keyspace.Dataset) string {
	if of.Reserved {
		return reservedPrefix + of.Role
	}
	return userPrefix + of.Role
}

// Dataset is the dataset whose replica a table holds; false for the tables of others.
func Dataset(table string) (keyspace.Dataset, bool) {
	if role, ok := strings.CutPrefix(table, userPrefix); ok {
		return keyspace.Dataset{Role: role}, true
	}
	role, ok := strings.CutPrefix(table, reservedPrefix)
	return keyspace.Dataset{Role: role, Reserved: true}, ok
}

// head is what the head row holds.
type head struct {
	counts storage.Counts
	clock  *crdt.Clock
	digest crdt.Digest
}

// append appends the value of the head row.
func (h head) append(dst []byte) []byte {
	dst = append(dst, format, byte(h.counts))
	dst = binary.BigEndian.AppendUint64(dst, h.digest[0])
	dst = binary.BigEndian.AppendUint64(dst, h.digest[1])
	return h.clock.Append(dst)
}

// Of turns a batch into rows. Their keys and values stand one after the other in one piece of memory.
func Of(b storage.Batch) []durable.Row {
	rows := make([]durable.Row, 0, len(b.Drop)+len(b.Put)+b.Unmark+2)
	all, at := make([]byte, 0, sizeMax(b)), 0
	piece := func() []byte { // what was appended since the last one
		from := at
		at = len(all)
		return all[from:at:at]
	}
	item := func(d crdt.Dot) []byte {
		all = itemKey(all, d)
		return piece()
	}
	mark := func(no int) []byte {
		all = markKey(all, no)
		return piece()
	}
	for _, d := range b.Drop {
		rows = append(rows, durable.Row{Key: item(d)})
	}
	for _, it := range b.Put {
		key := item(it.Dot)
		all = crdt.AppendItem(append(all, format), it)
		rows = append(rows, durable.Row{Key: key, Value: piece()})
	}
	if b.Mark != nil {
		key := mark(b.MarkNo)
		all = b.Mark.Append(append(all, format))
		rows = append(rows, durable.Row{Key: key, Value: piece()})
	}
	for no := range b.Unmark {
		rows = append(rows, durable.Row{Key: mark(no + 1)})
	}
	all = head{b.Counts, b.Clock, b.Digest}.append(all)
	return append(rows, durable.Row{Key: headKey, Value: piece()})
}

// sizeMax bounds the bytes of the rows of a batch.
func sizeMax(b storage.Batch) int {
	size := itemKeyLen*(len(b.Drop)+len(b.Put)) + markKeyLen*b.Unmark + 2 + digestLen + b.Clock.Size()
	for _, it := range b.Put {
		size += 1 + crdt.ItemSizeMax(it)
	}
	if b.Mark != nil {
		size += markKeyLen + 1 + b.Mark.Size()
	}
	return size
}

// errEnough ends a load of which the rest is not wanted.
var errEnough = errors.New("enough")

// Load says what a table holds, for replicator.New: the clock and the digest, and the items as they
// are read. The table must not change until the items have been read.
func Load(t durable.Table) (replicator.Loaded, error) {
	h, err := loadHead(t)
	if err != nil || h.clock == nil {
		return replicator.Loaded{}, err
	}
	torn, err := loadTorn(t, h)
	if err != nil {
		return replicator.Loaded{}, err
	}
	items := func(yield func(crdt.Item, error) bool) {
		err := eachItem(t, h, func(it crdt.Item, _ durable.Row) error {
			if !yield(it, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(crdt.Item{}, err)
		}
	}
	return replicator.Loaded{Clock: h.clock, Digest: h.digest, Items: items, Partial: torn}, nil
}

// loadTorn finds what does not count, where a crash has cut a large batch.
func loadTorn(t durable.Table, h head) (storage.PartialBatch, error) {
	out := storage.PartialBatch{Counts: h.counts}
	if h.counts == storage.AllRows {
		return out, nil
	}
	err := eachRow(t, h, func(r row) error {
		switch {
		case r.mark:
			out.Marks = r.no
		case !r.counts:
			out.Drop = append(out.Drop, r.dot)
		}
		return nil
	})
	return out, err
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
		if len(body) < 1+digestLen {
			return fmt.Errorf("row %x: %d bytes are too few", r.Key, len(body))
		}
		h.counts, body = storage.Counts(body[0]), body[1:]
		if h.counts > storage.Unmarked {
			return fmt.Errorf("row %x says that %v rows count", r.Key, h.counts)
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

// row is one of those behind the head.
type row struct {
	durable.Row
	body   []byte
	mark   bool
	no     int // of a mark
	dot    crdt.Dot
	counts bool
}

// eachRow calls fn with every mark and every item's row. row.counts reports whether the row counts.
func eachRow(t durable.Table, h head, fn func(row) error) error {
	var marked crdt.Clock
	marks := 0
	return t.Load(func(dr durable.Row) error {
		r := row{Row: dr}
		var err error
		if r.body, err = body(dr); err != nil {
			return err
		}
		switch {
		case dr.Key[0] == headRow && len(dr.Key) == len(headKey):
			return nil
		case dr.Key[0] == markRow && len(dr.Key) == markKeyLen && h.counts != storage.AllRows:
			names, err := crdt.DecodeClock(r.body)
			if err != nil {
				return fmt.Errorf("row %x: %w", dr.Key, err)
			}
			marked.Join(names)
			if marks++; binary.BigEndian.Uint64(dr.Key[1:]) != uint64(marks) {
				return fmt.Errorf("row %x is not mark %d", dr.Key, marks)
			}
			r.mark, r.no = true, marks
		case dr.Key[0] == itemRow && len(dr.Key) == itemKeyLen:
			r.dot = crdt.Dot{
				Origin: crdt.Origin(binary.BigEndian.Uint64(dr.Key[1:])), Seq: binary.BigEndian.Uint64(dr.Key[9:]),
			}
			r.counts = h.counts == storage.AllRows || h.counts == storage.Covered && h.clock.Has(r.dot) ||
				h.counts == storage.Unmarked && !marked.Has(r.dot)
		default:
			return fmt.Errorf("row %x is none of a replica's", dr.Key)
		}
		return fn(r)
	})
}

// eachItem calls fn with every item that counts, and its row.
func eachItem(t durable.Table, h head, fn func(crdt.Item, durable.Row) error) error {
	key := ""
	return eachRow(t, h, func(r row) error {
		if !r.counts {
			return nil
		}
		it, err := crdt.DecodeItem(r.body, key)
		if err != nil {
			return fmt.Errorf("row %x: %w", r.Key, err)
		}
		if it.Dot != r.dot {
			return fmt.Errorf("row %x holds %v", r.Key, it.Dot)
		}
		key = it.Key
		return fn(it, r.Row)
	})
}

func body(r durable.Row) ([]byte, error) {
	if r.Value[0] != format {
		return nil, fmt.Errorf("row %x has format %d, this program knows %d", r.Key, r.Value[0], format)
	}
	return r.Value[1:], nil
}
