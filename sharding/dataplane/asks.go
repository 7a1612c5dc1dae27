package dataplane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/failure"
)

// asks correlates replies with the questions of this region.
//
// A question is a slot and the slot's generation, together the id that travels. The slot's state is
// one atomic word (generation and phase). A question is ended by the reply, the caller's deadline
// or the loss of a node. Each has to move it out of waiting by one compare-and-swap for exactly its
// generation. So
//
//   - a late reply cannot reach the slot's next user: its generation is over;
//   - a reply that won the swap is always seen: the caller that lost it waits for the reply to be
//     filled in, which is under way;
//   - only the caller frees a slot, after that, so that a slot is never reused while it is
//     written to.
type asks struct {
	scheduler scheduler.Scheduler
	limit     int
	segments  []atomic.Pointer[segment] // grows by whole segments, never moves

	late atomic.Uint64 // that ended because their time was over

	mu   sync.Mutex
	free []*call
	made int
}

const segmentSize = 256

type segment [segmentSize]call

// call is one slot.
type call struct {
	index    uint32
	state    atomic.Uint64 // generation << 2 | phase
	done     chan struct{} // capacity 1: filled
	deadline atomic.Int64  // on the region's clock, 0 = the context has one
	mu       sync.Mutex    // held while node is noted, so that the question is still the same
	node     atomic.Uint64 // the node that was asked last, 0 = unknown or this node; of the question in state
	sink     sink          // where the reply goes; written before waiting
	err      error         // written before filled
}

// Phases of a call's state.
const (
	callFree uint64 = iota
	callWaiting
	callFilling
	phaseMask = 3
)

// sink takes the reply of one question.
type sink interface {
	accept(v any) error       // of a handler on this node
	Decode(body []byte) error // of a frame
}

func newAsks(limit int, s scheduler.Scheduler) *asks {
	segments := make([]atomic.Pointer[segment], (limit+segmentSize-1)/segmentSize)
	return &asks{scheduler: s, limit: limit, segments: segments}
}

// open is the number of questions under way.
func (a *asks) open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made - len(a.free)
}

// begin takes a slot; the id names it until end.
func (a *asks) begin(s sink) (*call, uint64, error) {
	a.mu.Lock()
	if len(a.free) == 0 && !a.growLocked() {
		a.mu.Unlock()
		return nil, 0, failure.ErrTooManyAsks
	}
	c := a.free[len(a.free)-1]
	a.free = a.free[:len(a.free)-1]
	a.mu.Unlock()
	c.sink, c.err = s, nil
	c.deadline.Store(0)
	generation := c.state.Load() >> 2
	c.mu.Lock()
	c.openLocked(generation)
	c.mu.Unlock()
	return c, generation<<32 | uint64(c.index), nil
}

// openLocked makes the slot that of a question that waits, and went nowhere yet.
func (c *call) openLocked(generation uint64) {
	c.node.Store(0)
	c.state.Store(generation<<2 | callWaiting)
}

func (a *asks) growLocked() bool {
	if a.made >= a.limit {
		return false
	}
	s := new(segment)
	base := a.made
	n := min(segmentSize, a.limit-base)
	for i := n - 1; i >= 0; i-- {
		c := &s[i]
		c.index, c.done = uint32(base+i), make(chan struct{}, 1)
		c.state.Store(1 << 2) // an id is never 0
		a.free = append(a.free, c)
	}
	a.made += n
	a.segments[base/segmentSize].Store(s)
	return true
}

// end frees the slot. Only the caller of begin calls it, when the question is over.
func (a *asks) end(c *call) {
	c.sink = nil
	next := (c.state.Load()>>2 + 1) & (1<<32 - 1)
	if next == 0 {
		next = 1
	}
	c.state.Store(next << 2)
	a.mu.Lock()
	a.free = append(a.free, c)
	a.mu.Unlock()
}

// at finds the slot of an id and the state that it has while the question waits.
func (a *asks) at(id uint64) (c *call, waiting uint64) {
	index := id & (1<<32 - 1)
	if index >= uint64(a.limit) {
		return nil, 0
	}
	s := a.segments[index/segmentSize].Load()
	if s == nil {
		return nil, 0
	}
	return &s[index%segmentSize], (id>>32)<<2 | callWaiting
}

// asked notes which node the question went to, so that it fails when that node is removed.
func (a *asks) asked(id, node uint64) {
	c, waiting := a.at(id)
	if c == nil {
		return
	}
	c.mu.Lock()
	if c.state.Load() == waiting {
		c.node.Store(node)
	}
	c.mu.Unlock()
}

// passedOn notes that questions which went to a node are elsewhere now, it does not know where.
func (a *asks) passedOn(node uint64) {
	for i := range a.segments {
		s := a.segments[i].Load()
		if s == nil {
			return
		}
		for j := range s {
			s[j].node.CompareAndSwap(node, 0)
		}
	}
}

// claim wins the right to fill the question in, or reports that it is over.
func (a *asks) claim(id uint64) (*call, bool) {
	c, waiting := a.at(id)
	return c, c != nil && c.state.CompareAndSwap(waiting, waiting-callWaiting+callFilling)
}

// answer ends a question with the value of a handler on this node, or with err. It reports whether
// a caller still waited.
func (a *asks) answer(id uint64, v any, err error) bool {
	c, ok := a.claim(id)
	if !ok {
		return false
	}
	if err == nil {
		err = c.sink.accept(v)
	}
	c.fill(err)
	return true
}

// answerBody is answer for an encoded reply.
func (a *asks) answerBody(id uint64, body []byte, err error) bool {
	c, ok := a.claim(id)
	if !ok {
		return false
	}
	if err == nil {
		err = c.sink.Decode(body)
	}
	c.fill(err)
	return true
}

func (c *call) fill(err error) {
	c.err = err
	c.done <- struct{}{}
}

// wait waits until a question is filled in or ctx ends, and returns its error.
func (a *asks) wait(ctx context.Context, c *call) error {
	if a.scheduler.Await(c.done, ctx.Done(), nil) == 0 {
		return c.err
	}
	if c.abandon() {
		return ctx.Err()
	}
	a.scheduler.Await(c.done, nil, nil) // a reply is being filled in
	return c.err
}

// abandon ends the question without a reply, unless one is being filled in.
func (c *call) abandon() bool {
	s := c.state.Load()
	return s&phaseMask == callWaiting && c.state.CompareAndSwap(s, s-callWaiting+callFilling)
}

// Sweep fails the questions that wait beyond their deadline or for a node that is gone. It reports
// whether any are under way.
func (a *asks) Sweep(now time.Duration, gone func(node uint64) bool) (pending bool) {
	for i := range a.segments {
		s := a.segments[i].Load()
		if s == nil {
			return pending
		}
		for j := range s {
			c := &s[j]
			state := c.state.Load()
			if state&phaseMask != callWaiting {
				continue
			}
			pending = true
			var err error
			if d := c.deadline.Load(); d != 0 && int64(now) > d {
				err = failure.ErrTimeout
			} else if n := c.node.Load(); n != 0 && gone != nil && gone(n) {
				err = failure.ErrNodeGone
			}
			if err != nil && c.state.CompareAndSwap(state, state-callWaiting+callFilling) {
				c.fill(err)
			}
		}
	}
	return pending
}

// FailAll ends every question under way.
func (a *asks) FailAll(err error) {
	for i := range a.segments {
		s := a.segments[i].Load()
		if s == nil {
			return
		}
		for j := range s {
			c := &s[j]
			if state := c.state.Load(); state&phaseMask == callWaiting &&
				c.state.CompareAndSwap(state, state-callWaiting+callFilling) {
				c.fill(err)
			}
		}
	}
}
