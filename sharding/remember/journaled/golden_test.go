package journaled

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// The bytes are a promise to journals that other builds have written.
func TestGoldenValues(t *testing.T) {
	by, names := history.StoredToken{Era: 1, Epoch: 1 << 40, Up: 3, Seq: 4}, [][]byte{[]byte("a"), {0xff, 0}}
	var samples []golden.Sample
	add := func(of schema.Schema[any], value any) {
		s, err := of.Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, golden.Sample{Name: s.Name, Bytes: s.Body, Want: value,
			Read: func(b []byte) (any, error) {
				return of.Decode(schema.Stored{Name: s.Name, Version: s.Version, Body: b})
			}})
	}
	add(events, changed{Added: names, Removed: names[:1], By: by})
	add(events, loaded{By: by})
	add(ids.Snapshots, whole{IDs: names, By: by})
	add(shards.Snapshots, wholeList{
		On: names, Off: names[:1], OnBy: []history.StoredToken{by, by}, OffBy: []history.StoredToken{by},
	})
	golden.Formats(t, samples)
}
