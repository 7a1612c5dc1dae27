package effect

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Lane is the connection that a message should take, so that bulk never delays acks.
type Lane uint8

// The lanes.
const (
	Prompt Lane = iota // pushes, acks, questions: small and urgent
	Bulk               // chunks, gaps, repairs
)

// String prints the lane's name.
func (l Lane) String() string {
	if l == Bulk {
		return "bulk"
	}
	return "prompt"
}

// Envelope is one message to one peer. Messages of one lane to one peer should arrive in order;
// loss, doubling and reordering cost time only.
type Envelope struct {
	To   crdt.Origin
	Lane Lane
	Msg  wire.Message
}

// String prints the envelope on one line.
func (e Envelope) String() string {
	return fmt.Sprintf("send to %s %v: %v", wire.Short(e.To), e.Lane, e.Msg)
}

// Whole is a message that has come in parts. Decoding it (wire.DecodeWhole) takes as long as it is
// large, so it is done beside the machine, which gets it as an input Decoded. Until then no other
// message of that peer comes in parts, unless that takes longer than its RetryInterval. If it is lost,
// the peer sends again what is still needed.
type Whole struct {
	From crdt.Origin
	Flow uint64
	Data [][]byte // one after the other
}

// String prints the message on one line.
func (w Whole) String() string {
	n := 0
	for _, piece := range w.Data {
		n += len(piece)
	}
	return fmt.Sprintf("decode %d bytes of %s, flow %d", n, wire.Short(w.From), w.Flow)
}

// Result answers one Update, Delete, DeleteForever or Get.
type Result struct {
	ID     uint64
	Err    error
	Read   bool        // there is a Reader: of a Get without error, and of an Update whose acks told enough
	Reader crdt.Reader // of an Update: only until the next Step
}

// String prints the result on one line.
func (r Result) String() string {
	if r.Err != nil {
		return fmt.Sprintf("reply #%d: %v", r.ID, r.Err)
	}
	return fmt.Sprintf("reply #%d ok", r.ID)
}

// Change tells a subscription that a key changed. Several changes of one Step are one Change with
// the latest value. What is new compared with an earlier Reader of the key crdt.Diff tells.
type Change struct {
	Sub     uint64
	Key     string
	Reader  crdt.Reader
	Deleted bool // the key holds nothing any more
}

// String prints the change on one line.
func (c Change) String() string {
	if c.Deleted {
		return fmt.Sprintf("notify #%d %q deleted", c.Sub, c.Key)
	}
	return fmt.Sprintf("notify #%d %q items %d", c.Sub, c.Key, c.Reader.Len())
}

// Settlement says that everything acknowledged before Epoch is known to a majority of the view of
// Epoch.
type Settlement struct {
	Space keyspace.Space
	Epoch uint64
	Lost  bool // a majority of an older view was gone for good: what only they held is lost
}

// String prints the settlement on one line.
func (s Settlement) String() string {
	if s.Lost {
		return fmt.Sprintf("settled %v %d, majority lost", s.Space, s.Epoch)
	}
	return fmt.Sprintf("settled %v %d", s.Space, s.Epoch)
}

// Effects is what one Step asks the driver to do, in the order of the fields. It is valid until the
// next Step; the slices are reused.
type Effects struct {
	Persist   []storage.Batch
	Send      []Envelope
	Whole     []Whole
	Reply     []Result
	Notify    []Change
	Settled   []Settlement
	Large     []LargeKey
	Diverged  []Divergence
	Malformed []Malformed
	Repairs   []Repair
	Holding   []Holding
	Changed   bool   // this Step changed what Snapshot returns
	CaughtUp  bool   // this Step made a learner catch up: it may be made a voter
	Moved     uint16 // not 0: this Step ended this replica's part in the move of that number (View.Moves)
	Retirable uint64 // not 0: under the view of that epoch all members have the same of the origins in View.Ending
	Outdated  bool   // the disk missed that origins ended of which it holds something: the node must start from empty
}

// Reset empties them for the next step, and keeps the memory of the slices.
func (e *Effects) Reset() {
	empty(&e.Persist)
	empty(&e.Send)
	empty(&e.Whole)
	empty(&e.Reply)
	empty(&e.Notify)
	empty(&e.Settled)
	empty(&e.Large)
	empty(&e.Diverged)
	empty(&e.Malformed)
	empty(&e.Repairs)
	empty(&e.Holding)
	e.Changed, e.CaughtUp, e.Moved, e.Retirable, e.Outdated = false, false, 0, 0, false
}

// empty empties a slice, most often one that is empty, and keeps its memory.
func empty[E any](s *[]E) {
	if len(*s) > 0 {
		clear(*s)
		*s = (*s)[:0]
	}
}

// Notable reports whether there is something to tell the node or its operators.
func (e *Effects) Notable() bool {
	return len(e.Settled)+len(e.Large)+len(e.Diverged)+len(e.Malformed)+len(e.Repairs)+len(e.Holding) > 0 ||
		e.CaughtUp || e.Retirable != 0 || e.Outdated
}

// String prints one effect a line.
func (e *Effects) String() string {
	var b strings.Builder
	lines(&b, e.Persist)
	lines(&b, e.Send)
	lines(&b, e.Whole)
	lines(&b, e.Reply)
	lines(&b, e.Notify)
	lines(&b, e.Settled)
	lines(&b, e.Large)
	lines(&b, e.Diverged)
	lines(&b, e.Malformed)
	lines(&b, e.Repairs)
	lines(&b, e.Holding)
	if e.CaughtUp {
		b.WriteString("caught up\n")
	}
	if e.Moved != 0 {
		fmt.Fprintf(&b, "moved #%d\n", e.Moved)
	}
	if e.Retirable != 0 {
		fmt.Fprintf(&b, "retirable in %d\n", e.Retirable)
	}
	if e.Outdated {
		b.WriteString("outdated disk\n")
	}
	return b.String()
}

func lines[T fmt.Stringer](b *strings.Builder, all []T) {
	for _, x := range all {
		b.WriteString(x.String())
		b.WriteByte('\n')
	}
}

// Stats counts what happened since New. All of it is for eyes and alarms; nothing depends on it.
type Stats struct {
	Malformed      uint64 // messages or groups dropped because they make no sense
	Strangers      uint64 // messages dropped because their sender is not in the view, or no view is installed
	StaleViews     uint64 // views dropped because a newer one is installed
	Applied        uint64 // groups of others applied
	Duplicates     uint64 // groups of others that were known
	Waited         uint64 // groups that came before one that they build on
	WaitingDropped uint64 // of those, dropped because too many waited; they are fetched again
	Repushes       uint64 // pushes repeated because no ack came
	Fills          uint64 // gaps filled from the log
	Repairs        uint64 // repairs finished, as the puller
	RepairsBroken  uint64 // repairs given up: lost donor, refused, no progress
	RepairAlarms   uint64 // times that a repair did not add up to the donor's digest, and another way was taken (R5)
	DonorsReplaced uint64 // donors of repairs that refused, left, fell silent or made no sense, and were replaced
	SketchCells    uint64 // cells of donors' sketches received
	SketchesFailed uint64 // sketches from which no difference could be read
	RangeRepairs   uint64 // repairs whose difference was looked for by ranges
	Donated        uint64 // repairs from here that their pullers have ended
	Helped         uint64 // questions of others' repairs answered with items, as a helper
	// dots that stood for two items: impossible by construction; all keep the one with the lower
	// hash (R5)
	Diverged      uint64
	DigestAlarms  uint64 // equal clocks with different digests: impossible by construction, repaired by union (R5)
	Held          uint64 // updates that were held back for a while
	StoreFailures uint64 // batches that the disk refused
	Swept         uint64 // items removed that were shown to no reader any more
	Expired       uint64 // keys removed because they were not written to for too long
	Folded        uint64 // groups made that fold what removed members had counted
	Moved         uint64 // moves of keys from the volatile to the durable space that this replica took part in
	FlowsDropped  uint64 // messages larger than a frame given up
}
