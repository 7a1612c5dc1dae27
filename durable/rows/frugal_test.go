package rows

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest"
)

// Broken or hostile rows cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	w := newWriter(t, 1)
	w.add(t, "k", "e")
	var rows slice
	if err := w.table.Load(func(r durable.Row) error {
		rows = append(rows, durable.Row{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		proptest.Frugal(t, 100, func(b []byte) {
			bent := bytes.Clone(b)
			if len(bent) == 0 {
				return // no store gives such rows
			}
			table := append(slice(nil), rows...)
			table[i].Value = bent
			_, _ = Verify(table)
			_, _ = load(table, 2)
		}, rows[i].Value)
	}
}
