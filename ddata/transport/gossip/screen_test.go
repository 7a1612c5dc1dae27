package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/coterie-go/coterie/ddata/transport"
)

// fields is a map as memberlist encodes it: keys and values in turn, strings, integers and
// booleans.
func fields(pairs ...any) []byte {
	b := []byte{0x80 | byte(len(pairs)/2)}
	for _, v := range pairs {
		switch v := v.(type) {
		case string:
			b = append(append(b, 0xda, byte(len(v)>>8), byte(len(v))), v...)
		case uint32:
			b = binary.BigEndian.AppendUint32(append(b, 0xce), v)
		case int:
			b = append(b, byte(v))
		case bool:
			b = append(b, 0xc2)
		}
	}
	return b
}

func of(t byte, body ...[]byte) []byte { return append([]byte{t}, bytes.Join(body, nil)...) }

func labelled(label string, b []byte) []byte {
	return append(append([]byte{typeLabel, byte(len(label))}, label...), b...)
}

var (
	aNode = fields("Name", "127.0.0.1:1/a1", "Addr", "\x7f\x00\x00\x01", "Port", uint32(7), "Meta", "meta",
		"Incarnation", 1, "State", 0, "Vsn", "\x01\x05\x02\x00\x00\x00")
	aPing    = of(0, fields("SeqNo", uint32(70000), "Node", "127.0.0.1:1/a1"))
	twoNodes = of(typeSync, fields("Nodes", 2, "UserStateLen", 0, "Join", false), aNode, aNode)
)

func compound(parts ...[]byte) []byte {
	b := []byte{typeCompound, byte(len(parts))}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	}
	return append(b, bytes.Join(parts, nil)...)
}

func TestScreenPacket(t *testing.T) {
	fine := Refusals
	for _, c := range []struct {
		what string
		b    []byte
		want Refusal
	}{
		{"ping", labelled("test", aPing), fine},
		{"with a checksum", labelled("test", append([]byte{typeCRC, 1, 2, 3, 4}, aPing...)), fine},
		{"two", labelled("test", compound(aPing, of(typeNack, fields("SeqNo", 1)))), fine},
		{"nothing", nil, RefusedForm},
		{"another cluster", labelled("prod", aPing), RefusedLabel},
		{"no label", aPing, RefusedLabel},
		{"two labels", labelled("test", labelled("test", aPing)), RefusedType},
		{"compressed", labelled("test", of(9, fields("Algo", 0, "Buf", "x"))), RefusedType},
		{"compressed in a compound", labelled("test", compound(aPing, of(9, fields("Algo", 0, "Buf", "x")))),
			RefusedType},
		{"a compound in a compound", labelled("test", compound(compound(aPing))), RefusedType},
		{"of a user", labelled("test", of(8, []byte("anything"))), RefusedType},
		{"encrypted", labelled("test", of(10, []byte("anything"))), RefusedType},
		{"a sync", labelled("test", twoNodes), RefusedType},
		{"a claim of 4 GiB", labelled("test",
			of(4, []byte{0x81, 0xa4}, []byte("Meta"), []byte{0xdb, 0xff, 0xff, 0xff, 0xff})), RefusedForm},
		{"a claim of 60 KiB", labelled("test", of(4, []byte{0x81, 0xa4}, []byte("Meta"), []byte{0xda, 0xf0, 0})),
			RefusedSize},
		{"a map in a map", labelled("test", of(0, []byte{0x81, 0xa1, 'a', 0x80})), RefusedForm},
		{"a number for a key", labelled("test", of(0, []byte{0x81, 1, 1})), RefusedForm},
		{"an array", labelled("test", of(0, []byte{0x91, 1})), RefusedForm},
		{"a byte more", labelled("test", append(bytes.Clone(aPing), 0)), RefusedForm},
		{"a large one", labelled("test", append(bytes.Clone(aPing), make([]byte, packetTaken)...)), RefusedSize},
	} {
		err := screenPacket(c.b, "test")
		e, _ := errors.AsType[errScreened](err)
		if (err == nil) != (c.want == fine) || err != nil && e.why != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	for n := range labelled("test", compound(aPing, aPing)) {
		if screenPacket(labelled("test", compound(aPing, aPing))[:n], "test") == nil {
			t.Errorf("the first %d bytes were taken for a packet", n)
		}
	}
}

// screenOf looks at a stream that holds b.
func screenOf(r io.Reader, answer bool) (*screen, error) {
	s := &screen{from: r, held: new(atomic.Int64)}
	return s, s.sync("test", answer)
}

func TestScreenSync(t *testing.T) {
	fine := Refusals
	header := func(pairs ...any) []byte { return labelled("test", of(typeSync, fields(pairs...))) }
	for _, c := range []struct {
		what   string
		b      []byte
		answer bool
		want   Refusal
	}{
		{"two nodes", labelled("test", twoNodes), false, fine},
		{"an answer", twoNodes, true, fine},
		{"an error for an answer", of(typeError, fields("Error", "why")), true, fine},
		{"an error", labelled("test", of(typeError, fields("Error", "why"))), false, RefusedType},
		{"another cluster", labelled("prod", twoNodes), false, RefusedLabel},
		{"no label", twoNodes, false, RefusedLabel},
		{"a ping", labelled("test", aPing), false, RefusedType},
		{"of a user", labelled("test", of(8, fields("UserMsgLen", uint32(20<<20)))), false, RefusedType},
		{"compressed", of(9, fields("Algo", 0, "Buf", "x")), true, RefusedType},
		{"a million nodes", header("Nodes", uint32(1<<20), "UserStateLen", 0, "Join", false), false, RefusedSize},
		{"less than none", []byte{typeSync, 0x83, 0xa5, 'N', 'o', 'd', 'e', 's', 0xd0, 0x80, 0xa4,
			'J', 'o', 'i', 'n', 0xc2,
			0xac, 'U', 's', 'e', 'r', 'S', 't', 'a', 't', 'e', 'L', 'e', 'n', 0}, true, RefusedSize},
		{"20 MiB of a user", header("Nodes", 0, "UserStateLen", uint32(20<<20), "Join", false), false, RefusedSize},
		{"the count twice", header("Nodes", 1, "Nodes", uint32(1<<20), "UserStateLen", 0), false, RefusedForm},
		{"no count", header("UserStateLen", 0, "Join", false), false, RefusedForm},
		{"empty nodes", append(header("Nodes", 2, "UserStateLen", 0, "Join", false), 0x80, 0x80), false, RefusedForm},
	} {
		_, err := screenOf(bytes.NewReader(c.b), c.answer)
		e, _ := errors.AsType[errScreened](err)
		if (err == nil) != (c.want == fine) || err != nil && e.why != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

// A stream that never ends, and many of them, are given up at their bounds.
func TestScreenIsBounded(t *testing.T) {
	long := strings.Repeat("m", scalarMax)
	node := fields("Name", long, "Addr", long, "Port", 1, "Meta", long, "Incarnation", 1, "State", 0, "Vsn", long)
	endless := func() io.Reader {
		return io.MultiReader(bytes.NewReader(labelled("test",
			of(typeSync, fields("Nodes", uint32(syncNodesMax), "UserStateLen", 0, "Join", false)))),
			bytes.NewReader(bytes.Repeat(node, syncNodesMax)))
	}
	var held atomic.Int64
	for _, c := range []struct {
		before int64
		want   Refusal
	}{{0, RefusedSize}, {heldMax - 1000, RefusedCrowd}} {
		held.Store(c.before)
		s := &screen{from: endless(), held: &held}
		err := s.sync("test", false)
		if e, _ := errors.AsType[errScreened](err); e.why != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
		if cap(s.b) > 2*syncMax {
			t.Errorf("%d bytes were held", cap(s.b))
		}
		if s.free(); held.Load() != c.before {
			t.Errorf("%d bytes were not given back", held.Load()-c.before)
		}
	}
}

// A sender of invented nodes cannot fill the memory with them; nodes that are listed stay.
func TestListedIsBounded(t *testing.T) {
	g := &Gossip{listed: map[transport.NodeID]listing{1: {}}}
	v := (*vetting)(g)
	for i := range transport.NodeID(listedMax) {
		if err := v.room(i + 2); err != nil {
			t.Fatal(err)
		}
	}
	if v.room(1) != nil || v.room(listedMax+10) == nil {
		t.Error("a listed node was turned away, or one more than there may be was taken")
	}
	g.newcomersSince = g.newcomersSince.Add(-newcomersIn)
	if err := v.room(listedMax + 10); err != nil {
		t.Errorf("after a while: %v", err)
	}
	for i := range transport.NodeID(listedMax) {
		g.listed[i+1] = listing{}
	}
	g.newcomersSince = g.newcomersSince.Add(-newcomersIn)
	if v.room(listedMax+11) == nil {
		t.Error("one more was listed than may be")
	}
}

// What is taken is no packet when it is cut off, and nothing is made room for.
func FuzzScreenPacket(f *testing.F) {
	f.Add(labelled("test", aPing))
	f.Add(labelled("test", append([]byte{typeCRC, 1, 2, 3, 4}, compound(aPing, aPing)...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if screenPacket(b, "test") != nil {
			return
		}
		for n := range b {
			if screenPacket(b[:n], "test") == nil {
				t.Fatalf("%d bytes of %d are a packet", n, len(b))
			}
		}
	})
}

// A stream costs little more than what came of it, and means the same in whatever pieces it comes.
func FuzzScreenSync(f *testing.F) {
	f.Add(labelled("test", twoNodes), false)
	f.Add(twoNodes, true)
	f.Add(of(typeError, fields("Error", "why")), true)
	f.Fuzz(func(t *testing.T, b []byte, answer bool) {
		s, err := screenOf(bytes.NewReader(b), answer)
		if cap(s.b) > 3*len(b)+1024 {
			t.Fatalf("room for %d bytes, %d have come", cap(s.b), len(b))
		}
		if one, errOne := screenOf(iotest.OneByteReader(bytes.NewReader(b)), answer); (err == nil) != (errOne == nil) ||
			one.at != s.at {
			t.Fatalf("%v after %d bytes; one at a time %v after %d", err, s.at, errOne, one.at)
		}
		if err == nil {
			if _, err := screenOf(bytes.NewReader(b[:s.at-1]), answer); err == nil {
				t.Fatal("taken though it was cut off")
			}
		}
	})
}
