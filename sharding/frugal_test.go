package sharding

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// codecSamples are messages of types that are read by a plan, by reflection, and by themselves.
func codecSamples(t testing.TB) (types []*codec.Type, bodies [][]byte) {
	t.Helper()
	c := CBOR[message_](addItem{}, &leaveNow{}, renamed{}, timed{}, selfMade{}, echo{})
	if c.err != nil {
		t.Fatal(c.err)
	}
	for _, m := range []message_{
		addItem{"apple", -3}, &leaveNow{}, renamed{7}, selfMade{9}, echo{Text: "x"}, timed{
			time.Unix(1, 2).UTC(), map[string]float64{"a": 0.5},
		},
	} {
		mt, err := c.reg.Of(m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := mt.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		types, bodies = append(types, mt), append(bodies, b)
	}
	return types, bodies
}

// Broken or hostile bytes cost no more than their own size: bodies of every kind of type, and whole
// frames.
func TestDecodingIsFrugal(t *testing.T) {
	types, bodies := codecSamples(t)
	for i, mt := range types {
		proptest.Frugal(t, 100, func(b []byte) {
			if len(b) > 0 { // frames have a body
				_, _ = mt.Decode(b)
			}
		}, bodies[i])
	}
	g, _ := localRegion(t, cartType(&cartLog{}))
	proptest.Frugal(t, 200, func(b []byte) { g.plane.Receive(7, b) },
		cbor.AppendNull(codec.AppendMessageHead(nil, &codec.Message{Kind: codec.Tell, Shard: 3, Type: 9}, "id")),
		append(codec.AppendMessageHead(nil, &codec.Message{
			Kind: codec.Ask, Shard: 3, Type: 0, Call: 1, Origin: 2,
		}, "id"), 0xa0),
		cbor.AppendBool(codec.AppendReplyHead(nil, 1<<32, codec.StatusOK), true),
		codec.AppendErrorReply(nil, 1<<32, 99, "x"), codec.AppendControl(nil, []byte{1, 2, 3}))
}

// The Context of an incarnation stays while that is idle.
func TestContextIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Context[message_]{}); size > 48 {
		t.Errorf("a context has %d bytes", size)
	}
}

// An idle entity takes 256 bytes at most, its machine's part and its id included, and 320 with a limit on
// active entities.
func TestIdleEntitiesAreSmall(t *testing.T) {
	const n = 40_000
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("cart-%010d", i)
	}
	for name, s := range map[string]passivation.Strategy{
		"idle": {}, "least recently used": {ActiveEntityLimit: n}, "composite": passivation.DefaultStrategy(),
		"least frequently used": {ActiveEntityLimit: n, Replacement: passivation.LeastFrequentlyUsed},
	} {
		most := int64(256)
		if s.Limited() {
			most = 320
			s.ActiveEntityLimit = 2 * n // some shards have more than their part
		}
		typ := cartType(&cartLog{})
		typ.Passivation.Strategy = s
		empty := receiveFunc(func(c *Context[message_], m message_) error { return nil })
		typ.New = func(*Context[message_]) Entity[message_] { return empty }
		w := newWorld(t)
		g := start(w.join("backend"), typ)
		w.install()
		askable := within(t, time.Minute)
		for shard := range typ.Shards { // so that the shards and their machines are there
			if _, err := g.StartEntity(askable, idsOf(shard, typ.Shards, 1)[0]); err != nil {
				t.Fatal(err)
			}
		}
		before := heapBytes()
		for _, id := range ids {
			if _, err := g.StartEntity(askable, id); err != nil {
				t.Fatal(err)
			}
		}
		bytes := int64(heapBytes()-before) / n
		if active := g.Stats().Active; bytes > most || active != n+typ.Shards {
			t.Errorf("%s: %d bytes for each of %d, want %d at most", name, bytes, active, most)
		} else {
			t.Logf("%s: %d bytes", name, bytes)
		}
	}
	runtime.KeepAlive(ids)
}

// FuzzMessageDecode: whatever comes, it decodes or is refused, and what decodes is encoded again.
func FuzzMessageDecode(f *testing.F) {
	types, bodies := codecSamples(f)
	for _, b := range bodies {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, mt := range types {
			if len(b) == 0 || mt.Go.Implements(reflect.TypeFor[Appender]()) {
				continue
			}
			v, err := mt.Decode(b)
			if err != nil {
				continue
			}
			again, err := mt.Append(nil, v)
			if err != nil {
				t.Fatalf("%x decodes to %#v, which does not encode: %v", b, v, err)
			}
			if _, err := mt.Decode(again); err != nil {
				t.Fatalf("%x decodes to %#v, whose encoding %x does not: %v", b, v, again, err)
			}
		}
	})
}
