package transport

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest"
)

// Broken or hostile bytes cost no more than their own size; a handshake no more than the longest
// one, a connection no more than its buffer.
func TestDecodingIsFrugal(t *testing.T) {
	var seeds [][]byte
	for _, k := range []kind{kindLink, kindAddr, kindStream} {
		b, err := appendHandshake(nil, k, hello{
			Formats: format.Build(),
			Cluster: "c", From: 1, To: 2, Addr: "a:1", Lane: Data, Stripe: 1, Generation: 9,
		})
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	b, err := appendHandshake(nil, kindRefusal, answer{From: 3, Reason: RefusedSelf, Text: "own"})
	if err != nil {
		t.Fatal(err)
	}
	proptest.Frugal(t, 100, func(b []byte) {
		k, body, err := readHandshake(bytes.NewReader(b))
		if err != nil {
			body = b // as if the head had been well
		}
		_, _ = decodeAnswer(k, body)
		_, _ = decodeHello(body)
	}, append(seeds, b)...)
	frames := appendFrame(appendFrame(nil, 1, []byte("one")), 2, []byte("two"))
	m := bare(0) // frames of the default limit
	proptest.Frugal(t, 100, func(b []byte) {
		_ = m.in.reader.read(&script{data: b, portion: func() int { return len(b) }}, 9, nil)
	}, frames)
}
