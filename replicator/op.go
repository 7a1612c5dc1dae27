package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// op is an operation that waits: for acks, for the disk, or for clocks.
type op struct {
	id       uint64
	key      string
	level    quorum.Level
	space    keyspace.Space
	read     bool
	seq      uint64               // write: last event of its group; 0: it changed nothing
	goal     *crdt.Clock          // write that changed nothing: what must be known to enough
	failed   error                // of the own disk
	mutate   func(*crdt.Tx) error // of an update that has not happened yet
	forever  bool                 // it also leaves the marker that nothing outlives
	waits    bool                 // it is among the timeouts, or was
	deadline time.Time
	asked    *comparison // linearizable read: the last one that it took part in
	tries    int         // of them
	place    int         // among the timeouts, -1: no longer
	serial   uint64      // of the operation, among those that used this op
	then     func(error) // of the machine's own operations: takes the place of an answer
}

// before orders by deadline, then by id.
func (o *op) before(p *op) bool {
	if !o.deadline.Equal(p.deadline) {
		return o.deadline.Before(p.deadline)
	}
	return o.id < p.id
}

// release lets go of what an op that has ended refers to.
func (o *op) release() {
	*o = op{serial: o.serial, place: -1}
}

// done reports whether the operation has been answered.
func (o *op) done() bool { return o.place < 0 }
