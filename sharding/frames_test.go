package sharding

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"pgregory.net/rapid"
)

// The bytes of each frame, as they are drawn at the top of wire.go.
func TestFrames(t *testing.T) {
	tell := &message{kind: frameTell, shard: 300, typ: 0x01020304}
	ask := &message{kind: frameAsk, hops: 2, shard: 5, typ: 7, call: 1 << 33, origin: 9}
	for want, got := range map[string][]byte{
		"01860100" + "19012c" + "626964" + "1a01020304" + "f6":                 cbor.AppendNull(appendMessageHead(nil, tell, "id")),
		"01880202" + "05" + "6161" + "07" + "1b0000000200000000" + "09" + "f6": cbor.AppendNull(appendMessageHead(nil, ask, "a")),
		"01840307" + "00" + "f5":     cbor.AppendBool(appendReplyHead(nil, 7, statusOK), true),
		"01840307" + "02" + "626f68": appendErrorReply(nil, 7, statusNoReply, "oh"),
		"01820442" + "aabb":          appendControl(nil, []byte{0xaa, 0xbb}),
		"018305" + "6162" + "42aabb": appendPost(nil, "b", []byte{0xaa, 0xbb}),
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
		m := message{
			kind: rapid.SampledFrom([]frameKind{frameTell, frameAsk}).Draw(t, "kind"), hops: rapid.Uint8Range(0, 23).Draw(t, "hops"),
			shard: rapid.Uint32().Draw(t, "shard"), typ: rapid.Uint32().Draw(t, "typ"),
			id: []byte(rapid.StringN(1, 40, 512).Draw(t, "id")), body: rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "body"),
		}
		if m.kind == frameAsk {
			m.call, m.origin = rapid.Uint64Range(0, timerCall-1).Draw(t, "call"), rapid.Uint64().Draw(t, "origin")
		}
		rd := cbor.NewReader(append(appendMessageHead(nil, &m, string(m.id)), m.body...))
		kind, fields := openFrame(rd)
		var got message
		got.read(rd, kind, fields)
		if rd.Err() != nil || got.kind != m.kind || got.hops != m.hops || got.shard != m.shard || got.typ != m.typ ||
			!bytes.Equal(got.id, m.id) || !bytes.Equal(got.body, m.body) || got.call != m.call || got.origin != m.origin {
			t.Fatalf("%+v came back as %+v", m, got)
		}
	})
}
