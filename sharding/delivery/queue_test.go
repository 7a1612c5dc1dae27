package delivery

import (
	"bytes"
	"errors"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/golden"
)

func TestTableQueue(t *testing.T) {
	env := durable.NewMemory().AutoFlush(true)
	table, err := env.Table("p")
	if err != nil {
		t.Fatal(err)
	}
	q := NewTableQueue(table)
	row := func(channel, seq uint64) Row {
		return Row{
			RowKey: RowKey{Session: Session{Generation: 7, Channel: channel}, Seq: seq},
			Entity: "entity", Body: []byte{1, 2, 3},
		}
	}
	for _, b := range []Batch{
		{Generation: 7, Add: []Row{row(1, 1), row(1, 2), row(2, 1)}},
		{Remove: []RowKey{row(1, 1).RowKey, row(9, 9).RowKey}},
	} {
		q.Commit(b, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	generation, rows, err := q.Load()
	if generation != 7 || len(rows) != 2 || err != nil || rows[0].RowKey != row(1, 2).RowKey ||
		rows[1].Entity != "entity" {
		t.Errorf("%d %v %v", generation, rows, err)
	}
	for _, bad := range []durable.Row{
		{Key: []byte("x"), Value: []byte{1}}, {Key: []byte{generationKey}, Value: []byte{1, 0x41}},
	} {
		table, _ := env.Table("q" + string(bad.Key))
		table.Commit([]durable.Row{bad}, func(error) {})
		if _, _, err := NewTableQueue(table).Load(); !errors.Is(err, errRow) {
			t.Errorf("% x: %v", bad.Key, err)
		}
	}
}

func FuzzRow(f *testing.F) {
	r := Row{RowKey: RowKey{Session: Session{Generation: 1, Channel: 2}, Seq: 3}, Entity: "entity", Body: []byte{4}}
	f.Add(rowKey(r.RowKey), encodeRow(&r))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, err := decodeRow(key, value)
		if err != nil {
			return
		}
		if !bytes.Equal(key, rowKey(r.RowKey)) || !bytes.Equal(value, encodeRow(&r)) {
			t.Errorf("%x %x became %v", key, value, r)
		}
	})
}

// The bytes are a promise to tables that other versions have written.
func TestGoldenRows(t *testing.T) {
	r := Row{
		RowKey: RowKey{Session: Session{Generation: 3, Channel: 300}, Seq: 7}, Entity: "e\u00e9", Body: []byte{1, 2},
	}
	empty := Row{RowKey: r.RowKey}
	read := golden.Reads(func(b []byte) (Row, error) { return decodeRow(rowKey(r.RowKey), b) })
	traced := r
	traced.Body = withHeader([]byte{0xaa}, []byte{0x82, 7, 0xf6}, 100)
	golden.Formats(t, []golden.Sample{
		{Name: "key", Bytes: rowKey(r.RowKey)}, {Name: "row", Bytes: encodeRow(&r), Read: read, Want: r},
		{Name: "empty", Bytes: encodeRow(&Row{}), Read: read, Want: empty},
		{Name: "traced row", Level: format.Headers, Bytes: encodeRow(&traced), Read: read, Want: traced},
	})
}
