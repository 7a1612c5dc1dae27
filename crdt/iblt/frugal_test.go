package iblt_test

import (
	"testing"

	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest"
)

// Broken or hostile bytes cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	proptest.Frugal(t, 100, func(b []byte) { _, _ = iblt.DecodeCells(b) }, make([]byte, 3*iblt.CellBytes))
}
