package gossip

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to peers of other builds.
func TestGoldenMeta(t *testing.T) {
	m := member{Cluster: "test", UID: 1 << 40, Addr: "10.0.0.1:1"}
	b, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	golden.Formats(t, []golden.Sample{{Name: "meta", Bytes: b, Read: golden.Reads(decodeMember), Want: m}})
}
