package operation

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

// Inflight is the operations that wait, whatever they wait for, and their time-outs.
//
// Invariant: none of spare is among timeouts.
type Inflight struct {
	site     *replica.Site
	timeouts deadline.Queue[*Op]
	spare    []*Op // for operations to come
}

// NewInflight makes an Inflight without operations.
func NewInflight(t *replica.Site) Inflight { return Inflight{site: t} }

// opsKeep bounds the ops that are kept for the next operations.
const opsKeep = 1024

// NewOp returns an op for a new operation: one that has been recycled, if there is one.
func (f *Inflight) NewOp(id uint64, key string, l quorum.Level) *Op {
	if n := len(f.spare); n > 0 {
		o := f.spare[n-1]
		f.spare = f.spare[:n-1]
		*o = Op{Entry: o.Renewed(), ID: id, Key: key, Level: l}
		return o
	}
	return &Op{ID: id, Key: key, Level: l}
}

// Recycle takes an op to which nothing refers any more, except its place in the line of the
// timeouts.
func (f *Inflight) Recycle(o *Op) {
	*o = Op{Entry: o.Retired()}
	if len(f.spare) < opsKeep {
		f.spare = append(f.spare, o)
	}
}

// Begin lets an operation wait.
func (f *Inflight) Begin(o *Op, timeout time.Duration) {
	if o.waits {
		return // it was held back, and its time counts from then
	}
	o.waits = true
	if timeout <= 0 {
		timeout = f.site.Cfg.OperationTimeout
	}
	f.timeouts.Add(o, o.ID, f.site.Now.Add(timeout))
}

// End answers an operation that waited.
func (f *Inflight) End(o *Op, err error) {
	if o.Done() {
		return
	}
	f.timeouts.Remove(o)
	if o.Then != nil {
		o.Then(err)
	} else {
		f.site.Reply(o.ID, err)
	}
}

// Finish answers an operation, whether it waited or not.
func (f *Inflight) Finish(o *Op, err error) {
	if o.waits {
		f.End(o, err)
	} else {
		f.site.Reply(o.ID, err)
	}
}

// EndRead answers a read, or an update with ThenGet, with a state of its key.
func (f *Inflight) EndRead(o *Op, r crdt.Reader) {
	if o.Done() {
		return
	}
	f.timeouts.Remove(o)
	if o.Then != nil {
		o.Then(nil)
	} else {
		f.site.ReplyReader(o.ID, r)
	}
}

// Next returns the operation whose time is up first, and whether there is one.
func (f *Inflight) Next() (*Op, bool) { return f.timeouts.First() }

// Waiting yields the operations that wait, in no order.
func (f *Inflight) Waiting() iter.Seq[*Op] { return f.timeouts.All() }

// Pending returns how many operations wait.
func (f *Inflight) Pending() int { return f.timeouts.Len() }

// MayAsk says why an operation of this level cannot begin.
func (f *Inflight) MayAsk(l quorum.Level) error {
	if !l.Valid() {
		return fmt.Errorf("%w: %v", ErrLevel, l)
	}
	if !f.site.Member {
		return ErrNoView
	}
	if n := len(f.site.View.Voters); l != quorum.Local && l.Need(n) > n {
		return fmt.Errorf("%w: %v, the view has %d voters", ErrNotEnoughReplicas, l, n)
	}
	if f.Pending() >= f.site.Cfg.PendingMax {
		return fmt.Errorf("%w: %d operations wait (Config.PendingMax)", ErrOverloaded, f.Pending())
	}
	return nil
}

// MayWrite says why an update cannot even begin. Nothing has happened then.
func (f *Inflight) MayWrite(l quorum.Level) error {
	if l == quorum.Linearizable {
		return fmt.Errorf("%w: %v is for reads; write at Majority", ErrLevel, l)
	}
	if err := f.MayAsk(l); err != nil {
		return err
	}
	if !f.site.Serves {
		return ErrLearner // R11: what it removes it must have observed
	}
	return nil
}

// Op is an operation that waits: for acks, for the disk, or for clocks.
type Op struct {
	deadline.Entry
	ID      uint64
	Key     string
	Level   quorum.Level
	Space   keyspace.Space
	Read    bool
	Seq     uint64               // write: last event of its group; 0: it changed nothing
	Goal    *crdt.Clock          // write that changed nothing: what must be known to enough
	Failed  error                // of the own disk
	Mutate  func(*crdt.Tx) error // of an update that has not happened yet
	ThenGet bool                 // of an update: its answer has a state of the key, if the acks allow that
	Looks   bool                 // with ThenGet: it has reached its level
	Forever bool                 // it also leaves the marker that nothing outlives
	waits   bool                 // it is among the timeouts, or was
	Asked   Question             // linearizable read: the last one that it took part in; nil: none
	Tries   int                  // of them
	Then    func(error)          // of the machine's own operations: takes the place of an answer
}

// Question is what the peers were asked of keys, and what they have said.
type Question interface {
	// agreed reports whether a replica, the own one as nil, holds the same state of a key.
	Agreed(p *replica.Peer, key string) bool
}

// Agreed reports whether a peer agreed when a linearizable read was compared last.
func (o *Op) Agreed(p *replica.Peer) bool { return o.Asked != nil && o.Asked.Agreed(p, o.Key) }

// HeldBack reports whether an update never had its turn.
func (o *Op) HeldBack() bool { return o.Mutate != nil }

// Split takes the operations that satisfy goes out of ops.
func Split(ops []*Op, goes func(*Op) bool) (rest, taken []*Op) {
	rest = slices.DeleteFunc(ops, func(o *Op) bool {
		is := goes(o)
		if is {
			taken = append(taken, o)
		}
		return is
	})
	return rest, taken
}
