package effect

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

// RepairState is how far a repair has come.
type RepairState uint8

// The states of a repair.
const (
	RepairBegan   RepairState = iota // a peer has been asked
	RepairDone                       // what differed is here
	RepairBroken                     // no donor could help, or it made no sense; gossip begins another
	RepairYielded                    // the peer repairs itself from here at the same time, and goes first
)

// String prints the state.
func (s RepairState) String() string {
	switch s {
	case RepairBegan:
		return "began"
	case RepairDone:
		return "done"
	case RepairBroken:
		return "broken"
	case RepairYielded:
		return "yielded"
	}
	return fmt.Sprintf("RepairState(%d)", uint8(s))
}

// Repair tells that this replica begins to fetch from a peer what it lacks and the log does not
// cover, or ends that.
type Repair struct {
	Space keyspace.Space
	Peer  crdt.Origin // the peer that is asked; at the end, the last one: another may have replaced the first
	State RepairState
	Items uint64        // that were fetched, of a RepairDone
	Took  time.Duration // since it began
}

// String prints it on one line.
func (r Repair) String() string {
	s := fmt.Sprintf("repair %v %v from %s", r.State, r.Space, wire.Short(r.Peer))
	if r.State == RepairDone {
		s += fmt.Sprintf(" items %d", r.Items)
	}
	return s
}

// Holding tells that updates wait for a peer that is Config.BacklogMax bytes behind, as no majority
// keeps up. Each space tells it at most once a minute.
type Holding struct {
	Space keyspace.Space
	Peer  crdt.Origin
	Held  int // that wait now
}

// String prints it on one line.
func (h Holding) String() string {
	return fmt.Sprintf("holding %v %d updates for %s", h.Space, h.Held, wire.Short(h.Peer))
}

// LargeKey says that a key has grown beyond Config.LargeKey, or by a tenth since that was last said
// of it.
type LargeKey struct {
	Space keyspace.Space
	Key   string
	Bytes int // estimated encoded size of what it holds
}

// String prints it on one line.
func (l LargeKey) String() string {
	return fmt.Sprintf("large %v %q %d bytes", l.Space, l.Key, l.Bytes)
}

// Divergence says that this replica and a peer held different items at one dot, which no correct
// run makes, and that both now keep the one with the lower hash.
type Divergence struct {
	Space keyspace.Space
	Peer  crdt.Origin
	Dot   crdt.Dot
	Key   string
	Dots  int // that differed, all in all; the first few are told
}

// String prints it on one line.
func (d Divergence) String() string {
	return fmt.Sprintf("diverged from %s %v %q %s:%d of %d",
		wire.Short(d.Peer), d.Space, d.Key, wire.Short(d.Dot.Origin), d.Dot.Seq, d.Dots)
}

// Malformed says that messages of a peer, or groups in them, make no sense. It is told at most once
// a minute of each peer.
type Malformed struct {
	Peer  crdt.Origin
	Count uint64 // since the peer came
}

// String prints it on one line.
func (m Malformed) String() string {
	return fmt.Sprintf("malformed from %s %d", wire.Short(m.Peer), m.Count)
}
