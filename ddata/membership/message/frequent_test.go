package message

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"pgregory.net/rapid"
)

// What is encoded field by field has the bytes of the reflection, and is read as it reads them.
func TestFrequentMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number, flag := rapid.Uint64(), rapid.Bool()
		h := Heartbeat{
			Cluster: view.ClusterID(number.Draw(t, "cluster")), Epoch: view.Epoch(number.Draw(t, "epoch")),
			Tag: number.Draw(t, "tag"), Mono: rapid.Int64().Draw(t, "mono"), Wall: rapid.Int64().Draw(t, "wall"),
			Flags:   report.Flags(rapid.Byte().Draw(t, "flags")) & report.All,
			Settled: view.Epoch(number.Draw(t, "settled")), Moved: rapid.Uint16().Draw(t, "moved"),
		}
		if flag.Draw(t, "has downs") {
			h.Downs = []view.UID{}
			for range rapid.IntRange(0, 30).Draw(t, "downs") {
				h.Downs = append(h.Downs, view.UID(len(h.Downs)*7+1))
			}
		}
		if flag.Draw(t, "has offers") {
			h.Offers = []view.Service{}
			for _, name := range []string{"a", "bö", "c"}[:rapid.IntRange(0, 3).Draw(t, "offers")] {
				h.Offers = append(h.Offers, view.Service{Role: "r", Name: name})
			}
		}
		g := Grant{
			Cluster: h.Cluster, Epoch: h.Epoch, Mono: h.Mono, Wall: h.Wall, Granted: flag.Draw(t, "granted"),
			Closes: flag.Draw(t, "closes"),
		}
		g.Arbiter = g.Granted && flag.Draw(t, "arbiter")
		same(t, h)
		same(t, g)
	})
}

func same[M Message](t interface{ Fatalf(string, ...any) }, m M) {
	b := Append(nil, m)
	if want := cbor.Records.MustAppend(nil, m); !bytes.Equal(b[2:], want) {
		t.Fatalf("%v\ngot  % x\nwant % x", m, b[2:], want)
	}
	got, err := Decode(b)
	want, _ := decodeAs[M](b[2:])
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(got, Message(m)) {
		t.Fatalf("%#v\nwas read as %#v: %v", m, got, err)
	}
	for n := range b { // a part is nothing
		if got, err := Decode(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes are read as %v", n, len(b), got)
		}
	}
	if got, err := Decode(append(b, 0)); err == nil {
		t.Fatalf("a byte too many, and it is read as %v", got)
	}
}

// A view that is told to all has the bytes of the reflection.
func TestCommitIsEncodedAsByReflection(t *testing.T) {
	v := &view.View{Format: format.Newest, Cluster: 7, Epoch: 1, LastUp: 1, Members: []view.Member{{
		UID: 9, Addr: "a:1", Roles: []string{"r"}, Status: view.Up, UpNumber: 1,
		Formats: format.Range{Min: 1, Max: format.Newest},
	}}}
	var err error
	if v, err = roundTrip(v); err != nil { // with empty lists where there are none
		t.Fatal(err)
	}
	same(t, Commit{View: v})
}

func roundTrip(v *view.View) (*view.View, error) {
	read := new(view.View)
	return read, cbor.Records.Decode(v.Append(nil), read)
}

// A heartbeat and a grant take one allocation each way: the bytes, and the message.
func TestFrequentMessagesAreCheap(t *testing.T) {
	for _, m := range []Message{
		Heartbeat{Cluster: 1 << 63, Epoch: 1000, Tag: 1 << 63, Mono: 1 << 50, Wall: 1 << 60, Settled: 1000},
		Grant{Cluster: 1 << 63, Epoch: 1000, Mono: 1 << 50, Wall: 1 << 60, Granted: true},
	} {
		var b []byte
		if n := testing.AllocsPerRun(100, func() { b = Append(nil, m) }); n > 1 {
			t.Errorf("%v: %v allocations to encode it", m, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := Decode(b); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%v: %v allocations to decode it", m, n)
		}
	}
}
