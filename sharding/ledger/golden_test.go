package ledger

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// The bytes are a promise to journals that other builds have written.
func TestGoldenValues(t *testing.T) {
	by := term{Era: 1, Epoch: 1 << 40, Up: 3, Seq: 4}
	homes := []home{{Shard: 300, UID: 1 << 63, Epoch: 2, Up: 3, Seq: 4}, {Shard: 1}}
	var samples []golden.Sample
	for _, v := range []struct {
		of    schema.Schema[any]
		value any
	}{
		{homesForm.Events, placed{By: by, Homes: homes}}, {homesForm.Snapshots, allHomes{Era: 1, Homes: homes}},
		{regionsForm.Events, registered{By: by, Added: []uint64{1, 2}, Removed: []uint64{3}}},
		{regionsForm.Snapshots, allRegions{Era: 1, Regions: []uint64{1, 2}}},
	} {
		s, err := v.of.Encode(v.value)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, golden.Sample{
			Name: fmt.Sprintf("%s %d", s.Name, s.Version), Bytes: s.Body, Want: v.value,
			Read: func(b []byte) (any, error) {
				return v.of.Decode(schema.Stored{Name: s.Name, Version: s.Version, Body: b})
			},
		})
	}
	golden.Formats(t, samples)
}
