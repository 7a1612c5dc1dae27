package etcd

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to nodes of other builds that share the store.
func TestGoldenRecord(t *testing.T) {
	golden.Formats(t, []golden.Sample{{
		Name: "record", Bytes: encodeRecord([]byte("record")), Read: golden.Reads(decodeRecord), Want: []byte("record"),
	}})
}
