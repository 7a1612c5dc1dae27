package delivery

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/durable"
)

// How a queue lies in a table. Keys are bytes, values begin with the format and go on in CBOR:
//
//	'g'                                    1, generation
//	'm' generation channel seq (8 each)    1, ["entity", bytes]
const (
	queueFormat   = 1
	generationKey = 'g'
	messageKey    = 'm'
)

// TableQueue is a Queue in a table of a durable store; each producer needs a table of its own. See
// durable/lmdb for a store on disk.
type TableQueue struct{ table durable.Table }

// NewTableQueue makes a Queue of a table, which holds nothing else.
func NewTableQueue(t durable.Table) *TableQueue { return &TableQueue{t} }

var _ Queue = (*TableQueue)(nil)

// Load implements Queue.
func (q *TableQueue) Load() (generation uint64, rows []Row, err error) {
	err = q.table.Load(func(r durable.Row) error {
		if len(r.Key) == 1 && r.Key[0] == generationKey {
			generation, err = decodeGeneration(r.Value)
			return err
		}
		row, err := decodeRow(r.Key, r.Value)
		rows = append(rows, row)
		return err
	})
	return generation, rows, err
}

// Commit implements Queue.
func (q *TableQueue) Commit(b Batch, done func(error)) {
	rows := make([]durable.Row, 0, len(b.Add)+len(b.Remove)+1)
	if b.Generation > 0 {
		rows = append(rows, durable.Row{
			Key: []byte{generationKey}, Value: cbor.AppendUint([]byte{queueFormat}, b.Generation),
		})
	}
	for i := range b.Add {
		rows = append(rows, durable.Row{Key: rowKey(b.Add[i].RowKey), Value: encodeRow(&b.Add[i])})
	}
	for _, k := range b.Remove {
		rows = append(rows, durable.Row{Key: rowKey(k)})
	}
	q.table.Commit(rows, done)
}

func rowKey(k RowKey) []byte {
	b := append(make([]byte, 0, 25), messageKey)
	for _, n := range [...]uint64{k.Session.Generation, k.Session.Channel, k.Seq} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func encodeRow(r *Row) []byte {
	b := cbor.AppendArray([]byte{queueFormat}, 2)
	return cbor.AppendBytes(cbor.AppendText(b, r.Entity), r.Body)
}

var errRow = errors.New("the table holds a row that no producer has written: give every producer a table of its own")

func decodeGeneration(b []byte) (uint64, error) {
	r := cbor.NewReader(b)
	version, n := r.Byte(), r.Uint()
	if err := r.End(); err != nil || version != queueFormat {
		return 0, fmt.Errorf("%w: key %q", errRow, generationKey)
	}
	return n, nil
}

// decodeRow reads what rowKey and encodeRow have written. The row shares no memory with either.
func decodeRow(key, value []byte) (row Row, err error) {
	if len(key) != 25 || key[0] != messageKey {
		return row, fmt.Errorf("%w: key %x", errRow, key)
	}
	row.Session.Generation, row.Session.Channel = binary.BigEndian.Uint64(key[1:]), binary.BigEndian.Uint64(key[9:])
	row.Seq = binary.BigEndian.Uint64(key[17:])
	r := cbor.NewReader(value)
	version := r.Byte()
	r.Tuple(2)
	row.Entity, row.Body = string(r.RawText(cbor.Any)), append([]byte(nil), r.Bytes(cbor.Any)...)
	if err := r.End(); err != nil || version != queueFormat {
		return Row{}, fmt.Errorf("%w: key %x", errRow, key)
	}
	return row, nil
}
