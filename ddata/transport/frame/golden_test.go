package frame

import (
	"bytes"
	"errors"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to peers of other builds.
func TestGoldenFrames(t *testing.T) {
	whole := Append(nil, 1<<40|7, []byte("payload"))
	cut, parts := Cut(Append(nil, 9, bytes.Repeat([]byte("ab"), 20)), 0, 9, 16)
	if parts != 3 {
		t.Fatalf("%d parts", parts)
	}
	read := func(b []byte) (any, error) {
		m, rest := Next(b)
		if len(rest) > 0 {
			return nil, errors.New("more than one message")
		}
		return m, nil
	}
	golden.Formats(t, []golden.Sample{
		{Name: "frame", Bytes: whole, Read: read,
			Want: Message{Channel: 1<<40 | 7, Payload: []byte("payload"), Whole: true, Begins: true}},
		{Name: "message in parts", Bytes: cut, Read: read,
			Want: Message{Channel: 9, Payload: bytes.Repeat([]byte("ab"), 20), Whole: true, Begins: true}},
	})
}
