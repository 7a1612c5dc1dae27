package settings

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/repair"
)

// Config is copied by New. The zero value of a field means its default; Self has none. All members
// of a role need the same DurableKeys, DigestSeed, FrameMax, and GroupMax.
type Config struct {
	// Self is the id of this process incarnation: the origin of its events and its name
	// among the peers. Required.
	Self crdt.Origin
	// Disk is the stable id of this node's directory, reported after a cold start; 0: none.
	Disk uint64
	// Reserved: this is reserved data (keyspace.Dataset). Its keys are others than those of users' data.
	Reserved bool
	// DurableKeys name the keys that live in the durable space: exactly, or with `*` for any run of
	// bytes, also inside ("sharding/*/ids/*"). "*" makes every key durable. Those that are not about
	// keys of this data are left out (keyspace.PatternsOf). Default none.
	DurableKeys []string
	// Expire removes keys that were not written for so long: a name or a pattern as in
	// DurableKeys, and the time, at least a second. Of several that match the exact name counts,
	// else the longest pattern. Reads do not keep a key alive. The rules of the oldest voter count.
	// Each matching key costs every replica some hundred bytes. Reserved data has none. Default none.
	Expire map[string]time.Duration
	// DigestSeed keys the hashes of items. Default 0.
	DigestSeed uint64

	// PreferOldest makes quorum reads ask the oldest members first, reachable ones before others.
	// Without it they ask any members. It does not change writes: a write goes to all members at
	// once, and the quickest answers count. Default false.
	PreferOldest bool

	// GossipInterval is how often one random peer is asked whether it holds the same. Shorter finds
	// losses and trims logs sooner, at some 80 bytes per exchange. Default 1 s.
	GossipInterval time.Duration
	// OperationTimeout is for operations that name none. Default 5 s.
	OperationTimeout time.Duration
	// RetryInterval is how long an answer may take before the question is asked again, of others
	// too: unacknowledged pushes, reads, settlement, repair. It doubles up to GossipInterval. It
	// should be well above a round trip and a commit. Default 250 ms.
	RetryInterval time.Duration
	// WriteBehind is how long after one batch the next may go to the disk at the earliest: what
	// comes meanwhile gathers in it, and what is put and removed again is never written. An ack
	// means the same as ever, committed, so that writes and acks of durable keys wait that much
	// longer at the most, and the disk syncs that much less often. Default 0: a batch goes as soon
	// as the one before is committed.
	WriteBehind time.Duration
	// BatchRowsMax is how many rows a batch may change before it is written in parts, each of which
	// is a transaction: what a repair brings, or what has gathered while the disk failed. Acks wait
	// for all parts but those that only clear away. More costs the store memory and keeps others
	// from it for longer. Default 32,768, which fits in a transaction of durable/lmdb whichever rows
	// they are.
	BatchRowsMax int
	// BatchBytesMax is the same for the bytes of the items. Default 32 MiB.
	BatchBytesMax int
	// GapDelay is how long a group may wait for one that it builds on before the sender is asked
	// for the gap. Default 5 ms.
	GapDelay time.Duration

	// FrameMax is the size in bytes above which groups, repairs and clocks are cut into several
	// messages. What stands around them comes on top: the transport must take frames of twice the
	// size. Default 64 KiB.
	FrameMax int
	// GroupMax bounds the encoded size of a group that travels as such, in bytes: what a peer is
	// willing to reassemble, and what waits for one peer to be sent in parts. Messages with large
	// clocks have as much room again. A larger group reaches the others by repair. Default 64 MiB.
	GroupMax int
	// PushFlight is how many pushes may be unacknowledged per peer and space; later groups are
	// gathered meanwhile and go together. More is a shorter wait under load, less is fewer and
	// larger messages. Default 2.
	PushFlight int
	// PushWindow bounds the bytes of unacknowledged pushes per peer and space. A peer that falls
	// further behind fetches from the log. Default 1 MiB.
	PushWindow int
	// BacklogMax is how many bytes of own groups, per space, a peer that answers may be behind. At
	// that limit updates are held back, unless a majority is less than a quarter of it behind: their
	// callers wait, up to their time-out. A higher value rides out longer pauses of peers. A peer
	// that is unreachable or has not answered for RetryInterval does not hold updates back. Up to
	// twice as much is kept in memory for pushing. Default 4 MiB.
	BacklogMax int
	// LargeKey is the estimated encoded size in bytes from which a key is told of as large, and
	// again with each tenth that it grows. It bounds nothing: items travel one by one. Negative:
	// never. Default 1 MiB.
	LargeKey int
	// PendingMax bounds the operations that wait for replicas or the disk. More get ErrOverloaded.
	// Default 65,536.
	PendingMax int
	// LogMax bounds the events of each space's log; beyond it a peer that lags is repaired instead.
	// Default 262,144.
	LogMax int
	// LogBytesMax bounds the bytes of the same. Default 64 MiB.
	LogBytesMax int
	// DonorsMax bounds the pinned snapshots from which others repair themselves at one time.
	// Default 4.
	DonorsMax int
	// SuppliersMax bounds the replicas from which the items of one large repair are fetched at the
	// same time, the donor among them. More is quicker where the donor's line is the narrow place,
	// and disturbs more. Default 3.
	SuppliersMax int
	// SketchCells is the length of the sketch of its live dots that each space keeps current, 16
	// bytes a cell: it serves repairs with up to 7 removals per 10 cells without a walk over the
	// items. Keeping it costs some 60 ns per change. Negative: none is kept. Default 16,384.
	SketchCells int
	// SketchFrom is how many live items a space must have before it keeps a sketch; for fewer it is
	// made when it is needed. Default 8,192.
	SketchFrom int
	// SketchMax bounds the cells that a repair asks for before it compares ranges of dots instead.
	// Default 65,536.
	SketchMax int
	// DonorExpiry is how long a pinned snapshot is kept without a request for it. It is also how
	// long the beginning of a large group is kept while its rest does not come. Default 10 s.
	DonorExpiry time.Duration
	// PieceWindow is how many questions of a repair may be out to one replica, each of which brings
	// a frame; and how many parts of a message larger than a frame. Default 8.
	PieceWindow int
	// StepItems is how many items of what a repair has brought one step makes part of the store, and
	// how many of the changes by that it then tells of. Of events that others have made one step applies
	// twice as many. More is a quicker repair, less is shorter steps: everything else waits for one.
	// Default 256, which is some 2 ms.
	StepItems int

	planted
}

// planted is the errors that a test has planted.
type planted = defect.Set

// Validate reports all faults together.
func (c Config) Validate() error {
	var f config.Faults
	f.Add(c.Self == 0, "Self", "is required")
	for _, k := range c.DurableKeys {
		f.Add(k == "", "DurableKeys", "holds an empty pattern")
	}
	f.Add(c.Reserved && len(c.Expire) > 0, "Expire", "is set, and no key of reserved data may expire")
	for _, k := range slices.Sorted(maps.Keys(c.Expire)) {
		f.Add(k == "", "Expire", "holds an empty pattern")
		f.Add(c.Expire[k] < time.Second, "Expire", "%q has %v, at least a second is needed", k, c.Expire[k])
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"GossipInterval", c.GossipInterval}, {"OperationTimeout", c.OperationTimeout},
		{"RetryInterval", c.RetryInterval}, {"WriteBehind", c.WriteBehind},
		{"GapDelay", c.GapDelay}, {"DonorExpiry", c.DonorExpiry},
	} {
		f.Add(d.d < 0, d.name, "%v is negative", d.d)
	}
	for _, n := range []struct {
		name     string
		n, least int
	}{
		{"FrameMax", c.FrameMax, 512}, {"GroupMax", c.GroupMax, 4096}, {"PushFlight", c.PushFlight, 1},
		{"PushWindow", c.PushWindow, 512},
		{"BacklogMax", c.BacklogMax, 512}, {"PendingMax", c.PendingMax, 1}, {"LogMax", c.LogMax, 1},
		{"LogBytesMax", c.LogBytesMax, 1},
		{"DonorsMax", c.DonorsMax, 1}, {"PieceWindow", c.PieceWindow, 1},
		{"SuppliersMax", c.SuppliersMax, 1}, {"SketchFrom", c.SketchFrom, 1}, {"StepItems", c.StepItems, 1},
		{"SketchMax", c.SketchMax, repair.FirstCells},
		{"BatchRowsMax", c.BatchRowsMax, 1}, {"BatchBytesMax", c.BatchBytesMax, 1},
	} {
		f.Add(n.n != 0 && n.n < n.least, n.name, "is %d, at least %d is needed", n.n, n.least)
	}
	f.Add(c.SketchCells > iblt.CellsMax, "SketchCells", "is %d, at most %d", c.SketchCells, iblt.CellsMax)
	f.Add(c.SketchMax > iblt.CellsMax, "SketchMax", "is %d, at most %d", c.SketchMax, iblt.CellsMax)
	return f.Err("replicator: Config")
}

// WithDefaults fills in what was left zero.
func (c Config) WithDefaults() Config {
	config.Default(&c.GossipInterval, time.Second)
	config.Default(&c.OperationTimeout, 5*time.Second)
	config.Default(&c.RetryInterval, 250*time.Millisecond)
	config.Default(&c.GapDelay, 5*time.Millisecond)
	config.Default(&c.BatchRowsMax, 1<<15)
	config.Default(&c.BatchBytesMax, 32<<20)
	config.Default(&c.FrameMax, 64<<10)
	config.Default(&c.GroupMax, 64<<20)
	config.Default(&c.PushFlight, 2)
	config.Default(&c.PushWindow, 1<<20)
	config.Default(&c.BacklogMax, 4<<20)
	config.Default(&c.LargeKey, 1<<20)
	config.Default(&c.PendingMax, 1<<16)
	config.Default(&c.LogMax, 1<<18)
	config.Default(&c.LogBytesMax, 64<<20)
	config.Default(&c.DonorsMax, 4)
	config.Default(&c.DonorExpiry, 10*time.Second)
	config.Default(&c.PieceWindow, 8)
	config.Default(&c.StepItems, 256)
	config.Default(&c.SuppliersMax, 3)
	config.Default(&c.SketchCells, 1<<14)
	config.Default(&c.SketchFrom, 1<<13)
	config.Default(&c.SketchMax, 1<<16)
	return c
}
