package replicator

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/deadline"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

// inflight is the operations that wait, whatever they wait for, and their time-outs.
//
// Invariant: none of spare is among timeouts.
type inflight struct {
	site     *replica.Site
	timeouts deadline.Queue[*op]
	spare    []*op // for operations to come
}

func newInflight(t *replica.Site) inflight { return inflight{site: t} }

// opsKeep bounds the ops that are kept for the next operations.
const opsKeep = 1024

// newOp returns an op for a new operation: one that has been recycled, if there is one.
func (f *inflight) newOp(id uint64, key string, l quorum.Level) *op {
	if n := len(f.spare); n > 0 {
		o := f.spare[n-1]
		f.spare = f.spare[:n-1]
		*o = op{Entry: o.Renewed(), id: id, key: key, level: l}
		return o
	}
	return &op{id: id, key: key, level: l}
}

// recycle takes an op to which nothing refers any more, except its place in the line of the
// timeouts.
func (f *inflight) recycle(o *op) {
	*o = op{Entry: o.Retired()}
	if len(f.spare) < opsKeep {
		f.spare = append(f.spare, o)
	}
}

// begin lets an operation wait.
func (f *inflight) begin(o *op, timeout time.Duration) {
	if o.waits {
		return // it was held back, and its time counts from then
	}
	o.waits = true
	if timeout <= 0 {
		timeout = f.site.Cfg.OperationTimeout
	}
	f.timeouts.Add(o, o.id, f.site.Now.Add(timeout))
}

// end answers an operation that waited.
func (f *inflight) end(o *op, err error) {
	if o.Done() {
		return
	}
	f.timeouts.Remove(o)
	if o.then != nil {
		o.then(err)
	} else {
		f.site.Reply(o.id, err)
	}
}

// finish answers an operation, whether it waited or not.
func (f *inflight) finish(o *op, err error) {
	if o.waits {
		f.end(o, err)
	} else {
		f.site.Reply(o.id, err)
	}
}

// endRead answers a read with a state of its key.
func (f *inflight) endRead(o *op, r crdt.Reader) {
	if o.Done() {
		return
	}
	f.timeouts.Remove(o)
	if o.then != nil {
		o.then(nil)
	} else {
		f.site.ReplyReader(o.id, r)
	}
}

// next returns the operation whose time is up first, and whether there is one.
func (f *inflight) next() (*op, bool) { return f.timeouts.First() }

// waiting yields the operations that wait, in no order.
func (f *inflight) waiting() iter.Seq[*op] { return f.timeouts.All() }

// pending returns how many operations wait.
func (f *inflight) pending() int { return f.timeouts.Len() }

// mayAsk says why an operation of this level cannot begin.
func (f *inflight) mayAsk(l quorum.Level) error {
	if !l.Valid() {
		return fmt.Errorf("%w: %v", ErrLevel, l)
	}
	if !f.site.Member {
		return ErrNoView
	}
	if n := len(f.site.View.Voters); l != quorum.Local && l.Need(n) > n {
		return fmt.Errorf("%w: %v, the view has %d voters", ErrNotEnoughReplicas, l, n)
	}
	if f.pending() >= f.site.Cfg.PendingMax {
		return fmt.Errorf("%w: %d operations wait (Config.PendingMax)", ErrOverloaded, f.pending())
	}
	return nil
}

// mayWrite says why an update cannot even begin. Nothing has happened then.
func (f *inflight) mayWrite(l quorum.Level) error {
	if l == quorum.Linearizable {
		return fmt.Errorf("%w: %v is for reads; write at Majority", ErrLevel, l)
	}
	if err := f.mayAsk(l); err != nil {
		return err
	}
	if !f.site.Serves {
		return ErrLearner // R11: what it removes it must have observed
	}
	return nil
}

// op is an operation that waits: for acks, for the disk, or for clocks.
type op struct {
	deadline.Entry
	id      uint64
	key     string
	level   quorum.Level
	space   keyspace.Space
	read    bool
	seq     uint64               // write: last event of its group; 0: it changed nothing
	goal    *crdt.Clock          // write that changed nothing: what must be known to enough
	failed  error                // of the own disk
	mutate  func(*crdt.Tx) error // of an update that has not happened yet
	forever bool                 // it also leaves the marker that nothing outlives
	waits   bool                 // it is among the timeouts, or was
	asked   question             // linearizable read: the last one that it took part in; nil: none
	tries   int                  // of them
	then    func(error)          // of the machine's own operations: takes the place of an answer
}

// question is what the peers were asked of keys, and what they have said.
type question interface {
	// agreed reports whether a replica, the own one as nil, holds the same state of a key.
	agreed(p *replica.Peer, key string) bool
}

// agreed reports whether a peer agreed when a linearizable read was compared last.
func (o *op) agreed(p *replica.Peer) bool { return o.asked != nil && o.asked.agreed(p, o.key) }

// heldBack reports whether an update never had its turn.
func (o *op) heldBack() bool { return o.mutate != nil }

// split takes the operations that satisfy goes out of ops.
func split(ops []*op, goes func(*op) bool) (rest, taken []*op) {
	rest = slices.DeleteFunc(ops, func(o *op) bool {
		is := goes(o)
		if is {
			taken = append(taken, o)
		}
		return is
	})
	return rest, taken
}
