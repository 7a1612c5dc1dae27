package control

import (
	"cmp"
	"math"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Quorums say how the replicated state of a type is read and written: the table of homes, the
// list of regions, and remembered ids. All of it goes to a majority of the role's replicas, and
// more if that is asked for.
//
// A majority is enough to lose nothing when nodes come, go and die one after the other or by
// planned changes, however fast: a view is left behind only when what it knew has reached the next
// one. More than that protects from the loss of more nodes at one instant than a majority survives.
// It costs availability: with WritePlus 3 and ReadPlus 5, the reference's, every one of up to 8
// nodes has to answer. One that cannot be reached then holds up new homes, moves, the first start
// of remembered entities, and takeovers, until it is removed. Known homes are routed to all the
// same.
type Quorums struct {
	// WritePlus is how many replicas beside a majority must have written; All: every one. Default
	// 0.
	WritePlus int
	// ReadPlus is how many beside a majority are asked by a new coordinator, and by a shard for its
	// ids; All: every one. Default 0.
	ReadPlus int
	// AtLeast is the least number of both, if there are as many. In a cluster of 3 to 5 nodes, 3
	// makes any two of them expendable, and needs 3 to go on. Default 0: a majority.
	AtLeast int
	// WriteTimeout bounds one write, and ReadTimeout one read. What was not answered by then is
	// repeated, without end. A shorter time finds another way sooner when a node has just died; a
	// longer one repeats less on a slow network. What is read may be large, such as the ids of a
	// million entities, and what is written may stand in a long queue for the disks. So each time
	// in a row that a read, or a shard's write of ids, fails, it gets twice the time, up to 32
	// times what is set. So a large one can succeed in the end. Defaults 5 s and 2 s.
	WriteTimeout, ReadTimeout time.Duration
}

// All, as Quorums.WritePlus or ReadPlus, asks for every replica.
const All = -1

// WithDefaults is q with the default in place of each zero field.
func (q Quorums) WithDefaults() Quorums {
	q.WriteTimeout = cmp.Or(q.WriteTimeout, 5*time.Second)
	q.ReadTimeout = cmp.Or(q.ReadTimeout, 2*time.Second)
	return q
}

// Check adds what is wrong.
func (q Quorums) Check(f *config.Faults) {
	f.Add(q.WritePlus < All, "Quorums.WritePlus", "is %d, want 0 or more, or sharding.All", q.WritePlus)
	f.Add(q.ReadPlus < All, "Quorums.ReadPlus", "is %d, want 0 or more, or sharding.All", q.ReadPlus)
	f.Add(q.AtLeast < 0, "Quorums.AtLeast", "is %d, want 0 or more", q.AtLeast)
	f.Add(q.WriteTimeout < 0, "Quorums.WriteTimeout", "is %v, want more than 0", q.WriteTimeout)
	f.Add(q.ReadTimeout < 0, "Quorums.ReadTimeout", "is %v, want more than 0", q.ReadTimeout)
}

func (q Quorums) write() quorum.Level { return q.level(q.WritePlus) }

func (q Quorums) read() quorum.Level { return q.level(q.ReadPlus) }

func (q Quorums) level(plus int) quorum.Level {
	if plus == All {
		return quorum.All
	}
	return quorum.MajorityPlus(plus, q.AtLeast)
}

// readLimit is how long a read may take that has failed so often in a row.
func (q Quorums) readLimit(failed uint) time.Duration { return longer(q.ReadTimeout, failed) }

// WriteLimit is how long a write may take that has failed so often in a row.
func (q Quorums) WriteLimit(failed uint) time.Duration { return longer(q.WriteTimeout, failed) }

func longer(limit time.Duration, failed uint) time.Duration {
	for range min(failed, 5) {
		limit += min(limit, math.MaxInt64-limit)
	}
	return limit
}
