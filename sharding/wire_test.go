package sharding

import (
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/codec"
)

// The bytes of messages are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	types, bodies := codecSamples(t)
	var samples []golden.Sample
	for i, mt := range types {
		read := func(b []byte) (any, error) { // as what is written anew: some types read what they do not show
			m, err := mt.Decode(b)
			if err != nil {
				return nil, err
			}
			return mt.Append(nil, m)
		}
		samples = append(samples, golden.Sample{Name: mt.Go.String(), Bytes: bodies[i], Read: read, Want: bodies[i]})
	}
	w := codec.State{
		Proxy: true, Entities: 300, Shards: []codec.StateShard{{Number: 1, Alive: 2, IDs: []string{"a"}}, {}},
	}
	for _, x := range []struct {
		name string
		v    any
		read func([]byte) (any, error)
	}{
		{"sharding.wireState", w, readAs[codec.State]}, {"sharding.wireState", codec.State{}, readAs[codec.State]},
		{"[]interface {}", []any{nil, 1.5, []byte(nil)}, nil},
		{"map[string]int", map[string]int{"b": 1, "a": -1}, readAs[map[string]int]},
	} {
		b, err := cbor.Messages.Append(nil, x.v)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, golden.Sample{Name: x.name, Bytes: b, Read: x.read, Want: x.v})
	}
	golden.Formats(t, samples)
}

func readAs[V any](b []byte) (any, error) {
	var v V
	err := cbor.Messages.Decode(b, &v)
	return v, err
}

// Whatever another node sends is handled or counted; it never stops a region.
func FuzzReceive(f *testing.F) {
	f.Add(cbor.AppendNull(codec.AppendMessageHead(nil, &codec.Message{Kind: codec.Tell, Shard: 3, Type: 9}, "id")))
	f.Add(append(codec.AppendMessageHead(nil, &codec.Message{
		Kind: codec.Ask, Shard: 3, Type: 0, Call: 1, Origin: 2,
	}, "id"), 0xa0))
	f.Add(append(codec.AppendMessageHead(nil, &codec.Message{
		Kind: codec.Tell, Shard: 3, Type: 0, Header: []byte{1, 2, 3},
	}, "id"), 0xa0))
	f.Add(cbor.AppendBool(codec.AppendReplyHead(nil, 1<<32, codec.StatusOK), true))
	f.Add(codec.AppendErrorReply(nil, 1<<32, 99, "x"))
	f.Add(codec.AppendControl(nil, []byte{1, 2, 3}))
	f.Add(codec.AppendPost(nil, "box", []byte{1, 2, 3}))
	g, _ := localRegion(f, cartType(&cartLog{}))
	spans := tracingtest.New()
	traced, _ := localRegion(f, cartType(&cartLog{}), tracedPorts(spans, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		g.plane.Receive(7, b)
		traced.plane.Receive(7, b)
		spans.Clear()
	})
}
