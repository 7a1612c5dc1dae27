package replicator

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// op is an operation that waits: for acks, for the disk, or for clocks.
type op struct {
	id       uint64
	key      string
	level    Level
	s        *space
	read     bool
	seq      uint64               // write: last event of its group; 0: it changed nothing
	goal     *crdt.Clock          // write that changed nothing: what must be known to enough
	failed   error                // of the own disk
	mutate   func(*crdt.Tx) error // of an update that has not happened yet
	forever  bool                 // it also leaves the marker that nothing outlives
	waits    bool                 // it is in the heap, or was
	deadline time.Time
	asked    *comparison // linearizable read: the last one that it took part in
	tries    int         // of them
	place    int         // in the heap, -1: no longer
	then     func(error) // of the machine's own operations: takes the place of an answer
}

// opHeap orders waiting operations by deadline, then by id.
type opHeap []*op

// Len, Less, Swap, Push and Pop are for container/heap.
func (h opHeap) Len() int { return len(h) }

// Less orders by deadline.
func (h opHeap) Less(i, j int) bool {
	if !h[i].deadline.Equal(h[j].deadline) {
		return h[i].deadline.Before(h[j].deadline)
	}
	return h[i].id < h[j].id
}

// Swap exchanges two operations.
func (h opHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push adds the last one.
func (h *opHeap) Push(x any) {
	o := x.(*op)
	o.place = len(*h)
	*h = append(*h, o)
}

// Pop takes the last one.
func (h *opHeap) Pop() any {
	old := *h
	o := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	o.place = -1
	return o
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
	heap.Push(&m.timeout, o)
}

// done says that the operation has been answered.
func (o *op) done() bool { return o.place < 0 }

// end answers an operation that waited.
func (m *Machine) end(o *op, err error) {
	if o.done() {
		return
	}
	heap.Remove(&m.timeout, o.place)
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
	heap.Remove(&m.timeout, o.place)
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

// dropOps ends everything that waits, when the node is no longer a member.
func (m *Machine) dropOps(err error) {
	for len(m.timeout) > 0 {
		m.end(m.timeout[0], err)
	}
	for _, s := range m.spaces {
		s.writes, s.goals, s.rounds = nil, nil, nil
		s.roundAt = zeroTime
		s.dropHeld()
		s.compares = compares{}
	}
}
