package ddata

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/replicator"
)

// Rows of one role's table, one per live item and one for what belongs to all of them:
//
//	'i' origin(8) seq(8)  →  rowFormat, item
//	'm'                   →  rowFormat, digest(16), clock
//
// Integers in keys are big-endian. A batch of the replicator is one transaction, so rows, clock and digest are always of one
// moment; loading checks the digest against the rows.
const (
	rowFormat = 1
	rowItem   = 'i'
	rowMeta   = 'm'
)

func itemKey(d crdt.Dot) []byte {
	k := make([]byte, 0, 17)
	k = append(k, rowItem)
	k = binary.BigEndian.AppendUint64(k, uint64(d.Origin))
	return binary.BigEndian.AppendUint64(k, d.Seq)
}

// rowsOf turns a batch into rows.
func rowsOf(b replicator.Batch) []durable.Row {
	rows := make([]durable.Row, 0, len(b.Drop)+len(b.Put)+1)
	for _, d := range b.Drop {
		rows = append(rows, durable.Row{Key: itemKey(d)})
	}
	for _, it := range b.Put {
		rows = append(rows, durable.Row{Key: itemKey(it.Dot), Value: crdt.AppendItem([]byte{rowFormat}, it)})
	}
	meta := make([]byte, 0, 64)
	meta = append(meta, rowFormat)
	meta = binary.BigEndian.AppendUint64(meta, b.Digest[0])
	meta = binary.BigEndian.AppendUint64(meta, b.Digest[1])
	meta = crdt.AppendClock(meta, b.Clock)
	return append(rows, durable.Row{Key: []byte{rowMeta}, Value: meta})
}

// loadRows reads what a table holds. The replicator verifies the digest.
func loadRows(t durable.Table) (replicator.Loaded, error) {
	var loaded replicator.Loaded
	var items []crdt.Item
	err := t.Load(func(r durable.Row) error {
		if r.Value[0] != rowFormat {
			return fmt.Errorf("row %x has format %d, this program knows %d", r.Key, r.Value[0], rowFormat)
		}
		body := r.Value[1:]
		switch r.Key[0] {
		case rowItem:
			it, err := crdt.DecodeItem(body)
			items = append(items, it)
			return wrapRow(r.Key, err)
		case rowMeta:
			return wrapRow(r.Key, decodeMeta(body, &loaded))
		}
		return fmt.Errorf("row %x is unknown", r.Key)
	})
	loaded.Items = slices.Values(items)
	return loaded, err
}

func decodeMeta(b []byte, l *replicator.Loaded) (err error) {
	if len(b) < 16 {
		return fmt.Errorf("%d bytes are too few", len(b))
	}
	l.Digest = crdt.Digest{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	l.Clock, err = crdt.DecodeClock(b[16:])
	return err
}

func wrapRow(key []byte, err error) error {
	if err != nil {
		return fmt.Errorf("row %x: %w", key, err)
	}
	return nil
}
