package delivery

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding"
)

// What a packet carries, and a Queue keeps: a message as sharding.Codec encodes it or, if it belongs to a
// trace, an array in CBOR with its header:
//
//	[type, message]
//	[1, header, [type, message]]
//
// A header is made from format.Headers on.
const bodyWithHeader = 1

// withHeader is a body with a header, or without it if that would be larger than most bytes.
func withHeader(header, body []byte, most int) []byte {
	b := cbor.AppendBytes(cbor.AppendUint(cbor.AppendArray(nil, 3), uint64(bodyWithHeader)), header)
	if b = append(b, body...); len(b) > most {
		return body
	}
	return b
}

// openBody returns the encoded message of a body, and its header; nil: it has none.
func openBody(b []byte) (header, body []byte, err error) {
	r := cbor.NewReader(b)
	if r.Array(cbor.Any) != 3 {
		return nil, b, nil
	}
	if form := r.Uint(); form != bodyWithHeader {
		r.Fail("form %d", form)
	}
	header, body = r.Bytes(tracing.HeaderMax), r.Rest()
	if err := r.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: a body with a header: %w", sharding.ErrEncoding, err)
	}
	return header, body, nil
}
