package replicator

import (
	"testing"

	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Hazard 13: broken or hostile bytes cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	var seeds [][]byte
	for _, m := range samples() {
		seeds = append(seeds, wire.Append(nil, m))
	}
	proptest.Frugal(t, 100, func(b []byte) { _, _ = wire.Decode(b) }, seeds...)
}
