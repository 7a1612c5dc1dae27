package wire

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/repair"
)

// The messages of a repair. The puller names its session; the donor keeps the moment that it has
// pinned for it under that name (R4).

// Pull asks for a repair: pin this moment and tell me about it. The answer is Head, then Items
// number 0 with the first of the items that are not in Content, and Cells from the first on of the
// sketch with key 0.
type Pull struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	Content *crdt.Clock // the puller's own at its own pinned moment
}

// Head tells what was pinned.
type Head struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	Clock   *crdt.Clock
	Digest  crdt.Digest // of the live items
	Items   uint64      // their number
}

// MoreCells asks for cells of a sketch of the live dots that both the donor's clock and the
// puller's have.
type MoreCells struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	Key     uint64
	From    uint32 // the first cell wanted
	Count   uint32
}

// Cells are some of those wanted, in order.
type Cells struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	Key     uint64
	From    uint32
	Cells   []iblt.Cell
}

// FetchItems asks for what is alive among some dots.
type FetchItems struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	ID      uint32 // of the question, from 1
	Kind    repair.Kind
	Dots    *crdt.Clock
	Sizes   []uint64 // repair.KindSums: so many dots has each run but the last
}

// Items answers a FetchItems: with all of the dots, or with those up to one, after which the puller
// asks again.
type Items struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
	// of the question; 0: of Pull, for all dots that are in the donor's clock and not in the
	// puller's
	ID    uint32
	UpTo  crdt.Dot      // the zero Dot: all of the dots
	Names *crdt.Clock   // repair.KindNames; else nil
	Sums  []crdt.Digest // repair.KindSums
	Items []*crdt.Item  // repair.KindItems and repair.KindSpares, in order of dots
}

// Done tells a donor that it need not keep the session any more.
type Done struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
}

// Refuse tells a puller to go elsewhere, or to come later.
type Refuse struct {
	Epoch   uint64
	Space   keyspace.Space
	Session uint64
}

func (m *Pull) epochOf() uint64       { return m.Epoch }
func (m *Head) epochOf() uint64       { return m.Epoch }
func (m *MoreCells) epochOf() uint64  { return m.Epoch }
func (m *Cells) epochOf() uint64      { return m.Epoch }
func (m *FetchItems) epochOf() uint64 { return m.Epoch }
func (m *Items) epochOf() uint64      { return m.Epoch }
func (m *Done) epochOf() uint64       { return m.Epoch }
func (m *Refuse) epochOf() uint64     { return m.Epoch }
