package sharding

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/head"
	"github.com/coterie-go/coterie/proptest"
)

// codecSamples are messages of types that are read by a plan, by reflection, and by themselves.
func codecSamples(t testing.TB) (types []*msgType, bodies [][]byte) {
	t.Helper()
	c := CBOR[message_](addItem{}, &leaveNow{}, renamed{}, timed{}, selfMade{}, echo{})
	if c.err != nil {
		t.Fatal(c.err)
	}
	for _, m := range []message_{
		addItem{"apple", -3}, &leaveNow{}, renamed{7}, selfMade{9}, echo{Text: "x"}, timed{time.Unix(1, 2).UTC(), map[string]float64{"a": 0.5}},
	} {
		mt, err := c.reg.of(m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := mt.appendBody(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		types, bodies = append(types, mt), append(bodies, b)
	}
	return types, bodies
}

// Broken or hostile bytes cost no more than their own size: bodies of every kind of type, and whole frames.
func TestDecodingIsFrugal(t *testing.T) {
	types, bodies := codecSamples(t)
	for i, mt := range types {
		proptest.Frugal(t, 100, func(b []byte) {
			if len(b) > 0 { // frames have a body
				_, _ = mt.decode(b)
			}
		}, bodies[i])
	}
	g, _ := localRegion(t, cartType(&cartLog{}))
	proptest.Frugal(t, 200, func(b []byte) { g.core.Receive(7, b) },
		append(appendMessageHead(nil, &message{kind: frameTell, shard: 3, typ: 9}, "id"), head.Null),
		append(appendMessageHead(nil, &message{kind: frameAsk, shard: 3, typ: 0, call: 1, origin: 2}, "id"), 0xa0),
		append(appendReplyHead(nil, 1<<32, statusOK), head.True), appendErrorReply(nil, 1<<32, 99, "x"), appendControl(nil, []byte{1, 2, 3}))
}

// FuzzMessageDecode: whatever comes, it decodes or is refused, and what decodes is encoded again.
func FuzzMessageDecode(f *testing.F) {
	types, bodies := codecSamples(f)
	for _, b := range bodies {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, mt := range types {
			if len(b) == 0 || mt.append {
				continue
			}
			v, err := mt.decode(b)
			if err != nil {
				continue
			}
			again, err := mt.appendBody(nil, v)
			if err != nil {
				t.Fatalf("%x decodes to %#v, which does not encode: %v", b, v, err)
			}
			if _, err := mt.decode(again); err != nil {
				t.Fatalf("%x decodes to %#v, whose encoding %x does not: %v", b, v, again, err)
			}
		}
	})
}
