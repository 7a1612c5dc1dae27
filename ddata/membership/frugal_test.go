package membership

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/proptest"
)

// Broken or hostile bytes cost no more than a multiple of their own size: the largest is that of an array
// of small numbers where members are wanted.
func TestDecodingIsFrugal(t *testing.T) {
	var seeds [][]byte
	for _, m := range sampleMessages() {
		seeds = append(seeds, message.Append(nil, m))
	}
	proptest.Frugal(t, 150, func(b []byte) { _, _ = message.Decode(b) }, seeds...)
	proptest.Frugal(t, 150, func(b []byte) { _, _ = record.Decode(b) }, record.Record{
		Last: sampleView(), Pending: sampleView(),
	}.Encode())
}
