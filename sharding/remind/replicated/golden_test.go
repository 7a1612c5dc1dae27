package replicated

import (
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/remind"
)

// The bytes are a promise to peers and directories of other builds.
func TestGoldenEntries(t *testing.T) {
	k := remind.Key{Entity: "e\u00e9", Name: "n"}
	r := remind.Reminder{
		Entity: k.Entity, Name: k.Name, Version: 1 << 40,
		Due: time.Unix(0, 1_700_000_000_000_000_001), Every: time.Hour, At: time.Unix(0, -3),
		Tries: 300, Body: []byte{1, 2},
	}
	byTime := timeOf(r.At, k)
	golden.Formats(t, []golden.Sample{
		{Name: "name", Bytes: []byte(nameOf(k)), Want: k, Read: func(b []byte) (any, error) {
			k, _ := readName(string(b))
			return k, nil
		}},
		{Name: "name by time", Bytes: []byte(byTime), Want: r.At, Read: func(b []byte) (any, error) {
			at, name, ok := readTime(string(b))
			if !ok || name != nameOf(k) {
				return nil, remind.ErrDamaged
			}
			return at, nil
		}},
		{Name: "reminder", Bytes: encode(r), Want: true, Read: func(b []byte) (any, error) {
			got, err := decode(nameOf(k), b)
			return reflect.DeepEqual(got, r), err
		}},
	})
}
