package wire

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Message is what one Replicator sends to another: a pointer to one of the structs of this package.
// It is immutable once sent. Every message names the epoch of the view that its sender has
// installed.
type Message interface {
	fmt.Stringer
	epochOf() uint64
}

// EpochOf returns the epoch that a message names.
func EpochOf(m Message) uint64 { return m.epochOf() }

// Push carries groups of events, in an order in which they can be applied.
type Push struct {
	Epoch  uint64
	Space  keyspace.Space
	Fill   bool   // an answer to Clock or Fetch; else the sender's own new groups
	More   bool   // Fill: there is more; tell your clock again
	Asks   uint64 // a question: what counts at your side when these do? 0: there is none
	Groups []crdt.Group

	Encoded [][]byte // Groups encoded, when the sender has that at hand
}

// Ack tells the sender of pushes what it wants to know of its own origin.
type Ack struct {
	Epoch   uint64
	Space   keyspace.Space
	Echo    uint64 // highest event of yours that a push brought, applied or not: it is no longer on its way
	Content uint64 // your events up to here are applied
	Acked   uint64 // your events up to here count: applied, committed if durable, and this replica serves
	// the number of the question of a push; 0: this answers none. Extra is for it: all that counts here
	// and you may lack; nil: nothing does
	Answers uint64
	Extra   *crdt.Clock
}

// Unstored tells the peer that the sender's disk has refused a batch. It goes out after each
// attempt, so a lost one does no harm.
type Unstored struct {
	Epoch uint64
	UpTo  uint64 // your durable events up to here are applied and were in the batch; 0: none that is not committed
	Acked uint64 // of them, those up to here count
	Why   string // what the disk said, at most write.WhyMax bytes
}

// Summary is what gossip says of one space.
type Summary struct {
	Hash    [16]byte    // of the content clock
	Digest  crdt.Digest // of the live items
	Acked   bool        // all of the content counts
	Settled uint64      // newest epoch known to be settled
}

// Holdings is gossip: what the sender holds. The receiver answers when it holds something else, or when
// asked.
type Holdings struct {
	Epoch  uint64
	Ask    bool // answer in any case
	Spaces [keyspace.Count]Summary
}

// Clock tells whole clocks. The receiver pushes what the sender lacks.
type Clock struct {
	Epoch   uint64
	Space   keyspace.Space
	Ask     bool        // answer with your Clock
	Content *crdt.Clock // what the sender has applied
	Acked   *crdt.Clock // what of it counts; nil: all of it
}

// Fetch asks for the groups of some dots.
type Fetch struct {
	Epoch uint64
	Space keyspace.Space
	Dots  *crdt.Clock
}

// LogTruncated answers Clock or Fetch when the log does not reach back far enough: repair from me.
type LogTruncated struct {
	Epoch uint64
	Space keyspace.Space
}

// Ask is the question of a quorum read: what counts at your side that is not in the clock with this
// hash?
type Ask struct {
	Epoch uint64
	Space keyspace.Space
	ID    uint64
	Hash  [16]byte
}

// Answer answers Ask. Extra holds all of the responder's acked clock that the asker may lack; nil:
// the clocks are the same.
type Answer struct {
	Epoch uint64
	Space keyspace.Space
	ID    uint64
	Extra *crdt.Clock
}

// Compare is the question of linearizable reads: is the state of these keys at your side the same
// as at mine?
type Compare struct {
	Epoch uint64
	Space keyspace.Space
	ID    uint64      // increasing per sender
	Hash  [16]byte    // of the asker's content clock
	More  *crdt.Clock // the part of it that the asker has not told the receiver before
	// microseconds for which updates of the keys must wait: they disturbed the read too often; 0:
	// none
	Hold uint32
	Keys []string
}

// Compared answers Compare.
type Compared struct {
	Epoch  uint64
	Space  keyspace.Space
	ID     uint64
	Known  bool        // the clock behind the hash is known; else ask again, with all of it
	Extra  *crdt.Clock // what counts at the responder and is not in the asker's clock; nil: nothing
	Lacks  *crdt.Clock // what is in the asker's clock and does not count at the responder; nil: nothing
	Differ []uint32    // the keys, by their index, of which Extra may hold events
}

// Report tells the acked clock as it was when the sender had installed the epoch, or later. From
// then on the sender acks nothing older (R15).
type Report struct {
	Epoch   uint64
	Space   keyspace.Space
	Ask     bool   // report too
	Serves  bool   // the sender may be counted on: its clock is an ack as well
	Disk    uint64 // the stable id of the sender's disk
	Hash    [16]byte
	Acked   *crdt.Clock // nil: a receiver with another hash asks again, with Whole
	Whole   bool        // with Ask: the hash does not help me
	Settled uint64
	Known   []quorum.PastView // the views from Settled on, as far as known
}

// Part is a piece of an encoded message that is larger than a frame.
type Part struct {
	Epoch        uint64
	Flow         uint64 // increasing per sender and receiver
	Index, Total uint32
	Data         []byte
}

// PartAck asks for the parts from Next on.
type PartAck struct {
	Epoch uint64
	Flow  uint64
	Next  uint32
}

func (m *Push) epochOf() uint64         { return m.Epoch }
func (m *Ack) epochOf() uint64          { return m.Epoch }
func (m *Unstored) epochOf() uint64     { return m.Epoch }
func (m *Holdings) epochOf() uint64     { return m.Epoch }
func (m *Clock) epochOf() uint64        { return m.Epoch }
func (m *Fetch) epochOf() uint64        { return m.Epoch }
func (m *LogTruncated) epochOf() uint64 { return m.Epoch }
func (m *Ask) epochOf() uint64          { return m.Epoch }
func (m *Answer) epochOf() uint64       { return m.Epoch }
func (m *Compare) epochOf() uint64      { return m.Epoch }
func (m *Compared) epochOf() uint64     { return m.Epoch }
func (m *Report) epochOf() uint64       { return m.Epoch }
func (m *Part) epochOf() uint64         { return m.Epoch }
func (m *PartAck) epochOf() uint64      { return m.Epoch }
