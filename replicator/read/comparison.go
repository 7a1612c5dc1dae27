package read

import (
	"cmp"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// comparison is one question whether others hold the same state of some keys. It serves all
// linearizable reads that began before it.
//
//	asked ──a quorum agrees──► answered
//	  └──── it does not, or it does not answer in time ────► the next one, of all, after a while
type comparison struct {
	id    uint64
	clock *crdt.Clock // the own content when it was asked
	hash  [16]byte    // of clock
	began time.Time
	hold  time.Duration
	names []string // the keys
	keys  []comparedKey
	asked []*replica.Peer
	votes []vote // by peer

	question *wire.Compare   // what the peer was asked that was asked last
	told     *crdt.Clock     // what that peer had been told before
	retold   []*replica.Peer // the peers that have been told the whole clock
}

// comparedKey is one key's part of a comparison.
type comparedKey struct {
	state  crdt.Reader // pinned when it was asked
	own    bool        // all events of it count at the own replica
	ops    []*operation.Op
	agreed bool
}

// vote is what one peer said: agrees has an entry per key.
type vote struct {
	from   *replica.Peer
	agrees []bool
	lacks  bool // some event of the keys
}

// ComparedMax bounds the keys of one comparison; more wait for the next one. Their names must fit
// half a frame.
const ComparedMax = 64

// keysMostly is how many keys a comparison mostly has at most: many reads are of few keys.
const keysMostly = 4

// sort sorts operations by their keys, as far as there is room, and returns the others, in the memory of ops.
func (c *comparison) sort(ops []*operation.Op, bytes int) []*operation.Op {
	few := min(len(ops), keysMostly)
	c.names, c.keys = make([]string, 0, few), make([]comparedKey, 0, few)
	room := make([]*operation.Op, len(ops)) // for the operations of all keys
	rest := ops[:0]
	for at, o := range ops {
		i := slices.Index(c.names, o.Key)
		if i < 0 {
			if bytes -= len(o.Key) + 8; len(c.keys) == ComparedMax || bytes < 0 && len(c.keys) > 0 {
				rest = append(rest, o)
				continue
			}
			i = len(c.keys)
			c.names = append(c.names, o.Key)
			n := count(ops[at:], o.Key)
			c.keys = append(c.keys, comparedKey{ops: room[:0:n]})
			room = room[n:]
		}
		c.keys[i].ops = append(c.keys[i].ops, o)
	}
	clear(ops[len(rest):])
	return rest
}

// count counts the operations of a key.
func count(ops []*operation.Op, key string) (n int) {
	for _, o := range ops {
		if o.Key == key {
			n++
		}
	}
	return n
}

// without returns the part of the clock that a peer has not been told.
func (c *comparison) without(told *crdt.Clock) *crdt.Clock {
	if told == nil {
		return c.clock
	}
	return c.clock.Minus(told)
}

// vote returns where the vote of a peer stands, or would stand, and whether it is there.
func (c *comparison) vote(p *replica.Peer) (i int, voted bool) {
	return slices.BinarySearchFunc(c.votes, p, func(v vote, p *replica.Peer) int {
		return cmp.Compare(v.from.ID, p.ID)
	})
}

// voted reports whether a replica, the own one as nil, has said what it holds.
func (c *comparison) voted(p *replica.Peer) bool {
	if p == nil {
		return true
	}
	_, voted := c.vote(p)
	return voted
}

// agrees reports whether a replica, the own one as nil, holds the same state of the i-th key.
func (c *comparison) agrees(p *replica.Peer, i int) bool {
	if p == nil {
		return c.keys[i].own
	}
	at, voted := c.vote(p)
	return voted && c.votes[at].agrees[i]
}

// Agreed reports whether a replica, the own one as nil, holds the same state of a key.
func (c *comparison) Agreed(p *replica.Peer, key string) bool {
	i := slices.Index(c.names, key)
	return i >= 0 && c.agrees(p, i)
}
