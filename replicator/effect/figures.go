package effect

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Figures is what a replica holds at one moment, and how far the others are. It is for eyes: nothing
// depends on it.
type Figures struct {
	CaughtUp bool
	Settled  uint64 // epoch of the newest view that is settled
	Pending  int    // operations under way
	Counts   Stats
	Spaces   [keyspace.Count]SpaceFigures
}

// SpaceFigures are those of one space.
type SpaceFigures struct {
	Keys      int
	Items     int
	Bytes     int // of the items, their keys aside, as they are encoded; estimated
	Digest    crdt.Digest
	Events    uint64 // in the clock, except of origins that are over: these are not counted
	Origins   int    // whose events are in the clock; many that are over count as one
	LogEvents int    // that are kept for peers which lag
	Waiting   int    // bytes of own events that are kept until all members have them
	Peers     []Lag  // in the order of their ids
}

// Lag is how far a peer is with what this replica has written.
type Lag struct {
	Peer   crdt.Origin
	Behind uint64 // own events that do not count there yet, as far as known here
	Flight int    // pushes on their way
}
