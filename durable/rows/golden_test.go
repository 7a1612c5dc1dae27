package rows

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	levels "github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/replicator/storage"
)

// The bytes are a promise to directories that other builds have written.
func TestGoldenRows(t *testing.T) {
	clock, mark := &crdt.Clock{}, &crdt.Clock{}
	clock.AddRange(7, 1, 300)
	mark.AddRange(8, 1, 2)
	it := &crdt.Item{Dot: crdt.Dot{Origin: 7, Seq: 300}, Key: "k", Path: "\x02a", Payload: "p"}
	b := storage.Batch{
		Put: []*crdt.Item{it}, Clock: clock, Digest: crdt.Digest{1 << 60, 2}, Counts: storage.Unmarked,
		Mark: mark, MarkNo: 1,
	}
	var samples []golden.Sample
	for _, r := range Of(b) {
		samples = append(samples, golden.Sample{Name: fmt.Sprintf("%x", r.Key), Bytes: r.Value})
	}
	golden.Formats(t, samples)
	var table slice
	for _, line := range golden.Stored(t, levels.Initial) {
		var key []byte
		if _, err := fmt.Sscanf(line.Name, "%x", &key); err != nil {
			t.Fatal(err)
		}
		table = append(table, durable.Row{Key: key, Value: line.Bytes})
	}
	slices.SortFunc(table, func(a, b durable.Row) int { return slices.Compare(a.Key, b.Key) })
	l, err := Load(table)
	if err != nil || !l.Clock.Equal(clock) || l.Digest != b.Digest || l.Partial.Counts != storage.Unmarked {
		t.Fatalf("read as %v %v %v, %v", l.Clock, l.Digest, l.Partial, err)
	}
	n := 0
	for got, err := range l.Items {
		if n++; err != nil || got != *it {
			t.Errorf("an item is read as %v, %v", got, err)
		}
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
}
