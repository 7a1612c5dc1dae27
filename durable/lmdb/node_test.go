package lmdb

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to directories that other versions have made.
func TestGoldenSlots(t *testing.T) {
	var samples []golden.Sample
	for _, s := range []nodeState{{ID: 1}, {ID: 1 << 63, Made: true, Note: []byte("note")}} {
		samples = append(samples, golden.Sample{
			Name: "slot", Bytes: encodeSlot(s, 300), Want: s, Read: func(b []byte) (any, error) {
				s, count, ok := decodeSlot(b)
				if !ok || count != 300 {
					return nil, errors.New("no slot")
				}
				return s, nil
			},
		})
	}
	m := marked{
		until: moment{clock: [16]byte{1, 2}, since: 1 << 50, wall: -3}, id: 7, change: 8,
		file: dirID{device: 9, inode: 10},
	}
	golden.Formats(t, append(samples,
		golden.Sample{Name: "id", Bytes: idValue(300)}, golden.Sample{Name: "format", Bytes: formatValue},
		golden.Sample{Name: "mark", Bytes: m.encode(), Want: m, Read: func(b []byte) (any, error) {
			m, ok := decodeMark(b)
			if !ok {
				return nil, errors.New("no mark")
			}
			return m, nil
		}},
	))
}
