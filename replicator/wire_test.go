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
	"github.com/coterie-go/coterie/replicator/wire"
	library "github.com/fxamacker/cbor/v2"
)

// samples holds one message of each kind, and the odd ones.
func samples() []wire.Message {
	c := &crdt.Clock{}
	c.AddRange(1, 1, 7)
	c.AddRange(2, 3, 1<<40)
	g := crdt.Group{
		{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02\xff", Puts: true, Payload: "p"},
		{Dot: crdt.Dot{Origin: 2, Seq: 10}, Key: "k", Path: "\x02b", Removes: []crdt.Dot{{Origin: 1, Seq: 3}}},
	}
	it := &crdt.Item{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02a", Payload: "p"}
	return []wire.Message{
		&wire.Status{
			Epoch: 3, Ask: true, Spaces: [keyspace.Count]wire.Summary{
				{Hash: c.Hash(), Digest: crdt.Digest{1, 2}, Acked: true, Settled: 2}, {Settled: 1},
			},
		},
		&wire.Push{Epoch: 3, Space: keyspace.Durable, Fill: true, More: true, Groups: []crdt.Group{g, g}}, &wire.Push{},
		&wire.Ack{Epoch: 3, Space: keyspace.Volatile, Echo: 1 << 63, Content: 24, Acked: 255},
		&wire.Clock{Epoch: 3, Ask: true, Content: c, Acked: &crdt.Clock{}}, &wire.Clock{Content: c},
		&wire.Fetch{Epoch: 1, Space: keyspace.Durable, Dots: c}, &wire.LogTruncated{Epoch: 1},
		&wire.Ask{ID: 65536, Hash: c.Hash()}, &wire.Answer{ID: 1, Extra: c}, &wire.Answer{ID: 1 << 32},
		&wire.Compare{Epoch: 2, Space: keyspace.Durable, ID: 300, Hash: c.Hash(), More: c, Hold: 70_000,
			Keys: []string{"k", "d/\u00e9"}}, &wire.Compare{More: &crdt.Clock{}},
		&wire.Compared{
			Epoch: 2, ID: 7, Known: true, Extra: c, Lacks: c, Differ: []uint32{0, 1 << 20},
		}, &wire.Compared{},
		&wire.Report{Epoch: 9, Ask: true, Serves: true, Whole: true, Disk: 7, Hash: c.Hash(), Acked: c, Settled: 8,
			Known: []quorum.PastView{{Epoch: 8, Voters: []crdt.Origin{1, 2}}, {Epoch: 7, Disks: []uint64{4, 5}}}},
		&wire.Report{}, &wire.Pull{Session: 1, Content: c}, &wire.Head{
			Session: 1, Clock: c, Digest: crdt.Digest{3, 4}, Items: 5,
		},
		&wire.MoreCells{Session: 1, Key: 1 << 50, From: 64, Count: 3},
		&wire.Cells{
			Session: 1, Key: 9, From: 64, Cells: []iblt.Cell{{ID: 1, Check: 2}, {ID: 3 << 60, Check: 4 << 20}},
		}, &wire.Cells{},
		&wire.FetchItems{Session: 1, ID: 2, Kind: repair.KindSums, Dots: c, Sizes: []uint64{3, 400}},
		&wire.FetchItems{Kind: repair.KindSpares, Dots: c}, &wire.Done{Session: 4},
		&wire.Items{
			Session: 1, ID: 2, UpTo: crdt.Dot{Origin: 3, Seq: 4}, Names: c, Sums: []crdt.Digest{{1, 2}, {3, 4}},
			Items: []*crdt.Item{it, it},
		}, &wire.Items{},
		&wire.Refuse{Session: 4}, &wire.Part{Flow: 1, Index: 2, Total: 3, Data: []byte("abc")},
		&wire.PartAck{Flow: 1, Next: 2},
		&wire.Unstored{Epoch: 3, UpTo: 1 << 40, Acked: 7, Why: "no space left"}, &wire.Unstored{},
	}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	for _, m := range samples() {
		b := wire.Append(nil, m)
		got, err := wire.Decode(b)
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		if got.String() != m.String() || !bytes.Equal(wire.Append(nil, got), b) ||
			reflect.TypeOf(got) != reflect.TypeOf(m) {
			t.Errorf("sent %v, got %v", m, got)
		}
		lent := bytes.Clone(b)
		kept, _ := wire.Decode(lent)
		scribble(lent)
		if !bytes.Equal(wire.Append(nil, kept), b) {
			t.Errorf("%v keeps bytes that are not its own", m)
		}
		if err := library.Wellformed(b[1:]); err != nil {
			t.Errorf("%v is no CBOR: %v", m, err)
		}
		for n := range b {
			if _, err := wire.Decode(b[:n]); err == nil {
				t.Errorf("%v cut to %d of %d bytes decodes", m, n, len(b))
			}
		}
		if _, err := wire.Decode(append(b, 0)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%v with a byte more: %v", m, err)
		}
	}
	if _, err := wire.Decode([]byte{wire.Version + 1}); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

// The bytes are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	golden.Bytes(t, "testdata/wire.hex", func(yield func(string, []byte) bool) {
		for _, m := range samples() {
			name := reflect.TypeOf(m).Elem().Name()
			if !yield("*replicator."+name, wire.Append(nil, m)) { // the file names them by their first package
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
		bytes += len(wire.Append(nil, p.msg))
		messages++
		if _, ok := p.msg.(*wire.Status); ok {
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
		f.Add(wire.Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Decode(b)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, wire.ErrVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if again := wire.Append(nil, m); !bytes.Equal(again, b) {
			t.Fatalf("%v has two encodings: %x and %x", m, b, again)
		}
		// A machine takes whatever decodes.
		w := cluster(t, 2, durableD)
		w.nodes[0].put("s", "x", quorum.Local)
		w.nodes[0].step(Receive{2, m})
		w.nodes[0].step(Receive{3, m})
	})
}
