package codec

import (
	"bytes"
	"testing"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/proptest/golden"
	"pgregory.net/rapid"
)

// The bytes are a promise to peers of other builds. The data plane reads frames, and package protocol what
// is in a control; TestMessagesComeBack has what is read here.
func TestGoldenFrames(t *testing.T) {
	tell := Message{Kind: Tell, Shard: 300, Type: 0x01020304, ID: []byte("id"), Body: []byte{0xf6}}
	ask := Message{Kind: Ask, Hops: 2, Shard: 5, Type: 7, Call: 1 << 33, Origin: 9, ID: []byte("a"), Body: []byte{0xf6}}
	tracedTell, tracedAsk := tell, ask
	tracedTell.Header, tracedAsk.Header = []byte{0xaa, 0xbb}, []byte{0xcc}
	samples := []golden.Sample{
		{Name: "tell", Bytes: append(AppendMessageHead(nil, &tell, "id"), 0xf6), Read: readMessage, Want: tell},
		{Name: "ask", Bytes: append(AppendMessageHead(nil, &ask, "a"), 0xf6), Read: readMessage, Want: ask},
		{
			Name: "traced tell", Level: format.Headers, Read: readMessage, Want: tracedTell,
			Bytes: append(AppendMessageHead(nil, &tracedTell, "id"), 0xf6),
		},
		{
			Name: "traced ask", Level: format.Headers, Read: readMessage, Want: tracedAsk,
			Bytes: append(AppendMessageHead(nil, &tracedAsk, "a"), 0xf6),
		},
		{Name: "reply", Bytes: cbor.AppendBool(AppendReplyHead(nil, 7, StatusOK), true)},
		{Name: "error reply", Bytes: AppendErrorReply(nil, 7, StatusNoReply, "oh")},
		{Name: "control", Bytes: AppendControl(nil, []byte{0xaa, 0xbb})},
		{Name: "post", Bytes: AppendPost(nil, "b", []byte{0xaa, 0xbb})},
		{Name: "inspect", Bytes: AppendInspect(nil, 7, InspectEntity, "id")},
		{Name: "farewell", Bytes: AppendFarewell(nil)},
	}
	var known []Kind
	for k := Tell; k < kindEnd; k++ {
		known = append(known, k)
	}
	golden.Kinds(t, known, samples, func(b []byte) Kind {
		kind, _ := OpenFrame(cbor.NewReader(b))
		return kind
	})
	golden.Formats(t, samples)
	for _, s := range samples {
		if err := library.Wellformed(s.Bytes[1:]); err != nil {
			t.Errorf("%s is not CBOR: %v", s.Name, err)
		}
	}
}

func readMessage(b []byte) (any, error) {
	var m Message
	r := cbor.NewReader(b)
	kind, fields := OpenFrame(r)
	m.Read(r, kind, fields)
	return m, r.Err()
}

func TestMessagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{
			Kind: rapid.SampledFrom([]Kind{Tell, Ask}).Draw(t, "kind"), Hops: rapid.Uint8Range(0, 23).Draw(t, "hops"),
			Shard: rapid.Uint32().Draw(t, "shard"), Type: rapid.Uint32().Draw(t, "typ"),
			ID:   []byte(rapid.StringN(1, 40, 512).Draw(t, "id")),
			Body: rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "body"),
		}
		if m.Kind == Ask {
			m.Call, m.Origin = rapid.Uint64Range(0, CallMax-1).Draw(t, "call"), rapid.Uint64().Draw(t, "origin")
		}
		if rapid.Bool().Draw(t, "traced") {
			m.Header = rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "header")
		}
		rd := cbor.NewReader(append(AppendMessageHead(nil, &m, string(m.ID)), m.Body...))
		kind, fields := OpenFrame(rd)
		var got Message
		got.Read(rd, kind, fields)
		if rd.Err() != nil || got.Kind != m.Kind || got.Hops != m.Hops || got.Shard != m.Shard || got.Type != m.Type ||
			!bytes.Equal(got.ID, m.ID) || !bytes.Equal(got.Body, m.Body) || got.Call != m.Call ||
			!bytes.Equal(got.Header, m.Header) || got.Origin != m.Origin {
			t.Fatalf("%+v came back as %+v", m, got)
		}
	})
}

// A header that is larger than a node makes one is refused, and so is a field too many.
func TestHeadersAreBounded(t *testing.T) {
	for size, fits := range map[int]bool{tracing.HeaderMax: true, tracing.HeaderMax + 1: false} {
		m := Message{Kind: Tell, Shard: 1, Type: 2, Header: make([]byte, size)}
		b := cbor.AppendNull(AppendMessageHead(nil, &m, "id"))
		rd := cbor.NewReader(b)
		kind, fields := OpenFrame(rd)
		if m.Read(rd, kind, fields); (rd.Err() == nil) != fits {
			t.Errorf("a header of %d bytes: %v", size, rd.Err())
		}
	}
	rd := cbor.NewReader(cbor.AppendNull(AppendMessageHead(nil, &Message{Kind: Tell, Header: []byte{1}}, "id")))
	kind, fields := OpenFrame(rd)
	var m Message
	if m.Read(rd, kind, fields+1); rd.Err() == nil {
		t.Error("a tell of 8 fields is read")
	}
}
