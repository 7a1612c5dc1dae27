package read

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/replica"
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
	keys  []comparedKey
	asked []*replica.Peer
	votes []vote

	retold []*replica.Peer // the peers that have been told the whole clock
}

// comparedKey is one key's part of a comparison.
type comparedKey struct {
	key    string
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

// sort sorts operations by their keys, as far as there is room, and returns the others, in the memory of ops.
func (c *comparison) sort(ops []*operation.Op, bytes int) []*operation.Op {
	rest := ops[:0]
	for at, o := range ops {
		i := slices.IndexFunc(c.keys, func(k comparedKey) bool { return k.key == o.Key })
		if i < 0 {
			if bytes -= len(o.Key) + 8; len(c.keys) == ComparedMax || bytes < 0 && len(c.keys) > 0 {
				rest = append(rest, o)
				continue
			}
			i = len(c.keys)
			c.keys = append(c.keys, comparedKey{key: o.Key})
		}
		if c.keys[i].ops == nil {
			c.keys[i].ops = make([]*operation.Op, 0, count(ops[at:], o.Key))
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

func (c *comparison) voted(p *replica.Peer) bool {
	return slices.ContainsFunc(c.votes, func(v vote) bool { return v.from == p })
}

// agrees reports whether a replica, the own one as nil, holds the same state of the i-th key.
func (c *comparison) agrees(p *replica.Peer, i int) bool {
	if p == nil {
		return c.keys[i].own
	}
	return slices.ContainsFunc(c.votes, func(v vote) bool { return v.from == p && v.agrees[i] })
}

// Agreed reports whether a replica, the own one as nil, holds the same state of a key.
func (c *comparison) Agreed(p *replica.Peer, key string) bool {
	i := slices.IndexFunc(c.keys, func(k comparedKey) bool { return k.key == key })
	return i >= 0 && c.agrees(p, i)
}
