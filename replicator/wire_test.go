package replicator

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	library "github.com/fxamacker/cbor/v2"
)

// samples holds one message of each kind, and the odd ones.
func samples() []Message {
	c := &crdt.Clock{}
	c.AddRange(1, 1, 7)
	c.AddRange(2, 3, 1<<40)
	g := crdt.Group{
		{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02\xff", Puts: true, Payload: "p"},
		{Dot: crdt.Dot{Origin: 2, Seq: 10}, Key: "k", Path: "\x02b", Removes: []crdt.Dot{{Origin: 1, Seq: 3}}},
	}
	it := &crdt.Item{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02a", Payload: "p"}
	return []Message{
		&Status{Epoch: 3, Ask: true, Spaces: [keyspace.Count]Summary{{Hash: c.Hash(), Digest: crdt.Digest{1, 2}, Acked: true, Settled: 2}, {Settled: 1}}},
		&Push{Epoch: 3, Space: keyspace.Durable, Fill: true, More: true, Groups: []crdt.Group{g, g}}, &Push{},
		&Ack{Epoch: 3, Space: keyspace.Volatile, Echo: 1 << 63, Content: 24, Acked: 255},
		&Clock{Epoch: 3, Ask: true, Content: c, Acked: &crdt.Clock{}}, &Clock{Content: c},
		&Fetch{Epoch: 1, Space: keyspace.Durable, Dots: c}, &LogTruncated{Epoch: 1}, &Ask{ID: 65536, Hash: c.Hash()}, &Answer{ID: 1, Extra: c}, &Answer{ID: 1 << 32},
		&Compare{Epoch: 2, Space: keyspace.Durable, ID: 300, Hash: c.Hash(), More: c, Hold: 70_000, Keys: []string{"k", "d/\u00e9"}}, &Compare{More: &crdt.Clock{}},
		&Compared{Epoch: 2, ID: 7, Known: true, Extra: c, Lacks: c, Differ: []uint32{0, 1 << 20}}, &Compared{},
		&Report{Epoch: 9, Ask: true, Serves: true, Whole: true, Disk: 7, Hash: c.Hash(), Acked: c, Settled: 8,
			Known: []quorum.PastView{{Epoch: 8, Voters: []crdt.Origin{1, 2}}, {Epoch: 7, Disks: []uint64{4, 5}}}},
		&Report{}, &Pull{Session: 1, Content: c}, &Head{Session: 1, Clock: c, Digest: crdt.Digest{3, 4}, Items: 5},
		&MoreCells{Session: 1, Key: 1 << 50, From: 64, Count: 3},
		&Cells{Session: 1, Key: 9, From: 64, Cells: []iblt.Cell{{ID: 1, Check: 2}, {ID: 3 << 60, Check: 4 << 20}}}, &Cells{},
		&FetchItems{Session: 1, ID: 2, Kind: repair.KindSums, Dots: c, Sizes: []uint64{3, 400}}, &FetchItems{Kind: repair.KindSpares, Dots: c}, &Done{Session: 4},
		&Items{Session: 1, ID: 2, UpTo: crdt.Dot{Origin: 3, Seq: 4}, Names: c, Sums: []crdt.Digest{{1, 2}, {3, 4}}, Items: []*crdt.Item{it, it}}, &Items{},
		&Refuse{Session: 4}, &Part{Flow: 1, Index: 2, Total: 3, Data: []byte("abc")}, &PartAck{Flow: 1, Next: 2},
		&Unstored{Epoch: 3, UpTo: 1 << 40, Acked: 7, Why: "no space left"}, &Unstored{},
	}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	for _, m := range samples() {
		b := AppendMessage(nil, m)
		got, err := DecodeMessage(b)
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		if got.String() != m.String() || !bytes.Equal(AppendMessage(nil, got), b) || reflect.TypeOf(got) != reflect.TypeOf(m) {
			t.Errorf("sent %v, got %v", m, got)
		}
		lent := bytes.Clone(b)
		kept, _ := DecodeMessage(lent)
		scribble(lent)
		if !bytes.Equal(AppendMessage(nil, kept), b) {
			t.Errorf("%v keeps bytes that are not its own", m)
		}
		if err := library.Wellformed(b[1:]); err != nil {
			t.Errorf("%v is no CBOR: %v", m, err)
		}
		for n := range b {
			if _, err := DecodeMessage(b[:n]); err == nil {
				t.Errorf("%v cut to %d of %d bytes decodes", m, n, len(b))
			}
		}
		if _, err := DecodeMessage(append(b, 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v with a byte more: %v", m, err)
		}
	}
	if _, err := DecodeMessage([]byte{wireVersion + 1}); !errors.Is(err, ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

// The bytes are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	golden.Bytes(t, "testdata/wire.hex", func(yield func(string, []byte) bool) {
		for _, m := range samples() {
			if !yield(fmt.Sprintf("%T", m), AppendMessage(nil, m)) {
				return
			}
		}
	})
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

// Idle gossip costs at most 100 bytes per exchange for both spaces, whatever they hold: nothing but
// one message is sent.
func TestIdleGossipIsSmall(t *testing.T) {
	w := newWorld(t, 1, durableD)
	const late = 1 << 31 // an epoch that no cluster reaches
	for id := crdt.Origin(1); id <= 3; id++ {
		w.start(id<<60, nil, uint64(id))
	}
	w.install(founded(late, 1<<60, 2<<60, 3<<60))
	for i := range 120 {
		w.nodes[i%3].put(fmt.Sprintf("key%d", i), "x", quorum.Local)
		w.nodes[i%3].put(fmt.Sprintf("d/key%d", i), "x", quorum.Local)
	}
	w.advance(time.Minute)
	var bytes, exchanges, messages int
	w.drop = func(p packet) bool {
		bytes += len(AppendMessage(nil, p.msg))
		messages++
		if _, ok := p.msg.(*Status); ok {
			exchanges++
		}
		return false
	}
	w.advance(10 * time.Minute)
	if exchanges < 3*590 || messages != exchanges || bytes > 100*exchanges {
		t.Fatalf("%d bytes in %d messages, %d exchanges", bytes, messages, exchanges)
	}
	t.Logf("%.1f bytes per exchange", float64(bytes)/float64(exchanges))
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range samples() {
		f.Add(AppendMessage(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if again := AppendMessage(nil, m); !bytes.Equal(again, b) {
			t.Fatalf("%v has two encodings: %x and %x", m, b, again)
		}
		// A machine takes whatever decodes.
		w := cluster(t, 2, durableD)
		w.nodes[0].put("s", "x", quorum.Local)
		w.nodes[0].step(Receive{2, m})
		w.nodes[0].step(Receive{3, m})
	})
}
