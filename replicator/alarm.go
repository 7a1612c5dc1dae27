package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

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
	return fmt.Sprintf("diverged from %s %v %q %s:%d of %d", wire.Short(d.Peer), d.Space, d.Key, wire.Short(d.Dot.Origin), d.Dot.Seq, d.Dots)
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

// Bounds of alarms.
const (
	divergedMax   = 8           // dots told of one repair
	alarmsMax     = 6           // doublings of the time between two repairs that do not help
	malformedEach = time.Minute // per peer
)

// malformed counts what a peer has sent and makes no sense.
func (t *site) malformed(p *peer) {
	t.stats.Malformed++
	p.malformed++
	if t.now.Before(p.warnAt) {
		return
	}
	p.warnAt = t.now.Add(malformedEach)
	t.eff.Malformed = append(t.eff.Malformed, Malformed{p.id, p.malformed})
}
