package codec

import (
	"bytes"
	"encoding/hex"
	"testing"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/crdt/cbor"
	"pgregory.net/rapid"
)

// The bytes of each frame, as they are drawn at the top of wire.go.
func TestFrames(t *testing.T) {
	tell := &Message{Kind: Tell, Shard: 300, Type: 0x01020304}
	ask := &Message{Kind: Ask, Hops: 2, Shard: 5, Type: 7, Call: 1 << 33, Origin: 9}
	for want, got := range map[string][]byte{
		"01860100" + "19012c" + "626964" + "1a01020304" +
			"f6": cbor.AppendNull(AppendMessageHead(nil, tell, "id")),
		"01880202" + "05" + "6161" + "07" + "1b0000000200000000" + "09" +
			"f6": cbor.AppendNull(AppendMessageHead(nil, ask, "a")),
		"01840307" + "00" + "f5":     cbor.AppendBool(AppendReplyHead(nil, 7, StatusOK), true),
		"01840307" + "02" + "626f68": AppendErrorReply(nil, 7, StatusNoReply, "oh"),
		"01820442" + "aabb":          AppendControl(nil, []byte{0xaa, 0xbb}),
		"018305" + "6162" + "42aabb": AppendPost(nil, "b", []byte{0xaa, 0xbb}),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("\nwant %s\ngot  %x", want, got)
		}
		if err := library.Wellformed(got[1:]); err != nil {
			t.Errorf("%x is not CBOR: %v", got, err)
		}
	}
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
		rd := cbor.NewReader(append(AppendMessageHead(nil, &m, string(m.ID)), m.Body...))
		kind, fields := OpenFrame(rd)
		var got Message
		got.Read(rd, kind, fields)
		if rd.Err() != nil || got.Kind != m.Kind || got.Hops != m.Hops || got.Shard != m.Shard || got.Type != m.Type ||
			!bytes.Equal(got.ID, m.ID) || !bytes.Equal(got.Body, m.Body) || got.Call != m.Call ||
			got.Origin != m.Origin {
			t.Fatalf("%+v came back as %+v", m, got)
		}
	})
}
