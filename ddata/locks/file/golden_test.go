package file

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to nodes of other builds that share the directory.
func TestGoldenState(t *testing.T) {
	golden.Formats(t, []golden.Sample{{
		Name: "state", Bytes: encodeState([]byte("record")), Read: golden.Reads(decodeState), Want: []byte("record"),
	}})
}
