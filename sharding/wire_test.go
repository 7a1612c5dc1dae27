package sharding

import (
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes of messages are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	types, bodies := codecSamples(t)
	golden.Bytes(t, "testdata/messages.hex", func(yield func(string, []byte) bool) {
		for i, mt := range types {
			if !yield(mt.typ.String(), bodies[i]) {
				return
			}
		}
		w := wireState{Proxy: true, Entities: 300, Shards: []wireShard{{Number: 1, Alive: 2, IDs: []string{"a"}}, {}}}
		for _, x := range []struct {
			name string
			v    any
		}{{"sharding.wireState", w}, {"sharding.wireState", wireState{}}, {"[]interface {}", []any{nil, 1.5, []byte(nil)}}, {"map[string]int", map[string]int{"b": 1, "a": -1}}} {
			b, err := cbor.Messages.Append(nil, x.v)
			if err != nil || !yield(x.name, b) {
				t.Fatal(err)
			}
		}
	})
}

// Whatever another node sends is handled or counted; it never stops a region.
func FuzzReceive(f *testing.F) {
	f.Add(cbor.AppendNull(appendMessageHead(nil, &message{kind: frameTell, shard: 3, typ: 9}, "id")))
	f.Add(append(appendMessageHead(nil, &message{kind: frameAsk, shard: 3, typ: 0, call: 1, origin: 2}, "id"), 0xa0))
	f.Add(cbor.AppendBool(appendReplyHead(nil, 1<<32, statusOK), true))
	f.Add(appendErrorReply(nil, 1<<32, 99, "x"))
	f.Add(appendControl(nil, []byte{1, 2, 3}))
	f.Add(appendPost(nil, "box", []byte{1, 2, 3}))
	g, _ := localRegion(f, cartType(&cartLog{}))
	f.Fuzz(func(t *testing.T, b []byte) { g.core.Receive(7, b) })
}
