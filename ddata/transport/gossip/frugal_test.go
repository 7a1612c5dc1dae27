package gossip

import (
	"testing"

	"github.com/coterie-go/coterie/proptest"
)

// Broken or hostile bytes cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	b, err := member{Cluster: "test", UID: 7, Addr: "10.0.0.1:1"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	proptest.Frugal(t, 100, func(b []byte) { _, _ = decodeMember(b) }, b)
}
