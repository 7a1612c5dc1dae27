package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// op is an operation that waits: for acks, for the disk, or for clocks.
type op struct {
	id       uint64
	key      string
	level    quorum.Level
	s        *space
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

// opsKeep bounds the ops that are kept for the next operations.
const opsKeep = 1024

// newOp returns an op for a new operation: one that has been recycled, if there is one.
func (m *Machine) newOp(id uint64, key string, l quorum.Level) *op {
	if n := len(m.spare); n > 0 {
		o := m.spare[n-1]
		m.spare = m.spare[:n-1]
		*o = op{serial: o.serial, id: id, key: key, level: l}
		return o
	}
	return &op{id: id, key: key, level: l}
}

// recycle takes an op to which nothing refers any more, except its place in the line of the
// timeouts.
func (m *Machine) recycle(o *op) {
	o.serial++
	o.release()
	if len(m.spare) < opsKeep {
		m.spare = append(m.spare, o)
	}
}

// release lets go of what an op that has ended refers to.
func (o *op) release() {
	*o = op{serial: o.serial, place: -1}
}

// begin lets an operation wait.
func (m *Machine) begin(o *op, timeout time.Duration) {
	if o.waits {
		return // it was held back, and its time counts from then
	}
	o.waits = true
	if timeout <= 0 {
		timeout = m.cfg.OperationTimeout
	}
	o.deadline = m.now.Add(timeout)
	m.pending++
	m.timeouts.add(o)
}

// done reports whether the operation has been answered.
func (o *op) done() bool { return o.place < 0 }

// end answers an operation that waited.
func (m *Machine) end(o *op, err error) {
	if o.done() {
		return
	}
	m.timeouts.remove(o)
	m.pending--
	switch {
	case o.then != nil:
		o.then(err)
	case o.read && err == nil:
		m.replyReader(o.id, o.s.store.View(o.key))
	default:
		m.reply(o.id, err)
	}
}

// finishOp answers an operation, whether it waited or not.
func (m *Machine) finishOp(o *op, err error) {
	if o.waits {
		m.end(o, err)
	} else {
		m.reply(o.id, err)
	}
}

// endRead answers a read with a state that was pinned before.
func (m *Machine) endRead(o *op, r crdt.Reader) {
	if o.done() {
		return
	}
	m.timeouts.remove(o)
	m.pending--
	m.replyReader(o.id, r)
}

func (m *Machine) reply(id uint64, err error) {
	m.eff.Reply = append(m.eff.Reply, Result{ID: id, Err: err})
}

func (m *Machine) replyReader(id uint64, r crdt.Reader) {
	if r.Deleted() {
		m.reply(id, fmt.Errorf("%w: %q", crdt.ErrDeleted, r.Key()))
		return
	}
	m.eff.Reply = append(m.eff.Reply, Result{ID: id, Reader: r})
}

// expire ends an operation whose time is up, and says what is known of it.
func (m *Machine) expire(o *op) { m.end(o, o.s.timedOut(o)) }

// onCancel ends operations whose callers have gone. It walks once over what waits, however many
// they are.
func (m *Machine) onCancel(ids []uint64) {
	wanted := make(map[uint64]struct{}, len(ids))
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	var ops []*op
	for o := range m.timeouts.all() {
		if _, ok := wanted[o.id]; ok && o.then == nil {
			ops = append(ops, o)
		}
	}
	for _, o := range ops {
		o.mutate = nil
		o.s.acksMoved = true // what waited with it is looked at again
		m.end(o, ErrCancelled)
	}
}

// dropOps ends everything that waits, when the node is no longer a member.
func (m *Machine) dropOps(err error) {
	for o := m.timeouts.first(); o != nil; o = m.timeouts.first() {
		m.end(o, err)
	}
	for _, s := range m.spaces {
		s.writes, s.goals, s.rounds = nil, nil, nil
		s.roundAt = zeroTime
		s.dropHeld()
		s.compares = compares{}
	}
}
