package wiretest

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Samples returns one message of each kind, and the odd ones.
func Samples() []wire.Message {
	c := &crdt.Clock{}
	c.AddRange(1, 1, 7)
	c.AddRange(2, 3, 1<<40)
	g := crdt.Group{
		{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02\xff", Puts: true, Payload: "p"},
		{Dot: crdt.Dot{Origin: 2, Seq: 10}, Key: "k", Path: "\x02b", Removes: []crdt.Dot{{Origin: 1, Seq: 3}}},
	}
	it := &crdt.Item{Dot: crdt.Dot{Origin: 2, Seq: 9}, Key: "k", Path: "\x02a", Payload: "p"}
	return []wire.Message{
		&wire.Holdings{
			Epoch: 3, Ask: true, Spaces: [keyspace.Count]wire.Summary{
				{Hash: c.Hash(), Digest: crdt.Digest{1, 2}, Acked: true, Settled: 2}, {Settled: 1},
			},
		},
		&wire.Push{Epoch: 3, Space: keyspace.Durable, Fill: true, More: true, Groups: []crdt.Group{g, g}},
		&wire.Push{Asks: 300},
		&wire.Ack{Epoch: 3, Space: keyspace.Volatile, Echo: 1 << 63, Content: 24, Acked: 255},
		&wire.Ack{Epoch: 3, Acked: 255, Answers: 1 << 40, Extra: c},
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
