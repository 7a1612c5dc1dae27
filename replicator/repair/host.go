package repair

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Host is the replica that a repair runs in. It calls the Puller from one goroutine, and is not
// called after the Puller has returned.
type Host interface {
	// Now is the time of the step.
	Now() time.Time
	// RetryAt is when to ask again after so many vain tries.
	RetryAt(tries int) time.Time
	// Suppliers are the voters among the peers, those first that should be asked first.
	Suppliers() []Supplier
	// Progress is how messages in parts get on between a peer and this replica.
	Progress(of crdt.Origin, session uint64) Progress
	// Malformed notes that what a peer sent makes no sense.
	Malformed(from crdt.Origin)
	// Broken notes that a repair that began at a time has ended without its end.
	Broken(from crdt.Origin, began time.Time)
}

// Line carries what a puller says. It may lose any of it, and drops what is for a peer that has
// left.
type Line interface {
	// Pull asks a donor to pin a moment, and tells the puller's clock of its own pinned moment.
	Pull(to crdt.Origin, session uint64, content *crdt.Clock)
	// MoreCells asks for cells of the donor's sketch with a key.
	MoreCells(to crdt.Origin, session, key uint64, from, count uint32)
	// Ask asks about dots; of KindSums, sizes are those of the runs but the last.
	Ask(to crdt.Origin, session uint64, id uint32, kind Kind, dots *crdt.Clock, sizes []uint64)
	// Done tells a donor that it need not keep the session any more.
	Done(to crdt.Origin, session uint64)
}

// Supplier is a peer that may have what this replica lacks.
type Supplier struct {
	ID        crdt.Origin
	Reachable bool
}

// Progress is how messages in parts get on between two replicas.
type Progress struct {
	Moved   uint64 // parts that have come or were acknowledged
	Coming  uint64 // the message that comes, or came last
	Open    bool   // it still comes
	Carries bool   // a message of the session is on its way to the peer
}

// Limits bound a repair.
type Limits struct {
	FrameMax     int // bytes of a message
	PieceWindow  int // questions that are out to one replica
	SuppliersMax int // replicas that items are fetched from at the same time
	SketchMax    int // cells that are asked for before ranges are compared
}

// Counters are where a repair counts; see the Stats of package replicator.
type Counters struct {
	DonorsReplaced, RepairAlarms, SketchCells, SketchesFailed, RangeRepairs *uint64
}

// Env is what all repairs of one space share.
type Env struct {
	Limits
	Counters
	Host    Host
	Line    Line
	Rand    *rand.Rand
	Store   *crdt.Store
	Defects defect.Set // planted by a test
}

// Kind is what a question asks for.
type Kind uint8

// The kinds of questions. KindItems, KindNames and KindSums are about the donor's pinned moment,
// KindSpares about whatever replica, of now.
const (
	KindItems Kind = iota // the items that are alive among the dots
	KindNames             // which of the dots are alive
	KindSums              // the sums of the hashes of what is alive in each run of dots
	// the items that are alive among the dots at a replica that is not the donor: it need not have
	// all
	KindSpares
	Kinds // how many kinds there are
)

// String prints the kind.
func (k Kind) String() string {
	if k < Kinds {
		return [...]string{"items", "names", "sums", "spares"}[k]
	}
	return fmt.Sprintf("what(%d)", uint8(k))
}

// Answer answers a question: with all of its dots, or with those up to one.
type Answer struct {
	ID    uint32        // of the question; 0: of Pull, for all dots that only the donor's clock has
	UpTo  crdt.Dot      // the zero Dot: all of the dots
	Names *crdt.Clock   // KindNames; else nil
	Sums  []crdt.Digest // KindSums
	Items []*crdt.Item  // KindItems and KindSpares, in order of dots
}

// Cells are some cells of a sketch, in order.
type Cells struct {
	Key   uint64
	From  uint32
	Cells []iblt.Cell
}

// WorkItems bounds the items that one step walks over, per repair and side.
const WorkItems = 1 << 13
