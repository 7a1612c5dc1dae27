package asks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Table correlates replies with the questions of this region.
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
type Table struct {
	scheduler scheduler.Scheduler
	clock     func() time.Duration // of the region
	timeout   time.Duration        // of questions without a deadline
	sweep     *scheduler.Alarm     // looks for questions beyond their deadline, while any is under way
	limit     int
	segments  []atomic.Pointer[segment] // grows by whole segments, never moves

	late atomic.Uint64 // that ended because their time was over

	mu   sync.Mutex
	free []*Call
	made int
}

const segmentSize = 256

type segment [segmentSize]Call

// Call is one slot.
type Call struct {
	index    uint32
	state    atomic.Uint64 // generation << 2 | phase
	done     chan struct{} // capacity 1: filled
	deadline atomic.Int64  // on the region's clock, 0 = the context has one
	mu       sync.Mutex    // held while node is noted, so that the question is still the same
	node     atomic.Uint64 // the node that was asked last, 0 = unknown or this node; of the question in state
	sink     Sink          // where the reply goes; written before waiting
	err      error         // written before filled
}

// Phases of a call's state.
const (
	callFree uint64 = iota
	callWaiting
	callFilling
	phaseMask = 3
)

// Sink takes the reply of one question.
type Sink interface {
	Accept(v any) error       // of a handler on this node
	Decode(body []byte) error // of a frame
}

// sweepEvery is how late the end of a question may be seen that has no deadline of its own.
const sweepEvery = 50 * time.Millisecond

// NewTable makes a table for so many questions at one time. timeout bounds those that Bound is
// called for, by clock.
func NewTable(limit int, timeout time.Duration, clock func() time.Duration, s scheduler.Scheduler) *Table {
	a := &Table{
		scheduler: s, clock: clock, timeout: timeout, limit: limit,
		segments: make([]atomic.Pointer[segment], (limit+segmentSize-1)/segmentSize),
	}
	a.sweep = scheduler.NewAlarm(s, sweepEvery, func() {
		if a.Sweep(nil) {
			a.sweep.Arm()
		}
	})
	return a
}

// Stop ends the look for questions beyond their deadline.
func (a *Table) Stop() { a.sweep.Stop() }

// Late is how many questions ended because their time was over.
func (a *Table) Late() uint64 { return a.late.Load() }

// Open is the number of questions under way.
func (a *Table) Open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made - len(a.free)
}

// Begin takes a slot; the id names it until Await.
func (a *Table) Begin(s Sink) (*Call, uint64, error) {
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

// Bound has a question end with ErrTimeout when the table's time-out is over.
func (a *Table) Bound(c *Call) {
	c.deadline.Store(int64(a.clock() + a.timeout))
	a.sweep.Arm()
}

// openLocked makes the slot that of a question that waits, and went nowhere yet.
func (c *Call) openLocked(generation uint64) {
	if c.node.Load() != 0 {
		c.node.Store(0)
	}
	c.state.Store(generation<<2 | callWaiting)
}

func (a *Table) growLocked() bool {
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

// end frees the slot. Only the caller of Begin has it done, when the question is over.
func (a *Table) end(c *Call) {
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
func (a *Table) at(id uint64) (c *Call, waiting uint64) {
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

// Sent notes which node the question went to, so that it fails when that node is removed.
func (a *Table) Sent(id, node uint64) {
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

// PassedOn notes that questions which went to a node are elsewhere now, it does not know where.
func (a *Table) PassedOn(node uint64) {
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
func (a *Table) claim(id uint64) (*Call, bool) {
	c, waiting := a.at(id)
	return c, c != nil && c.state.CompareAndSwap(waiting, waiting-callWaiting+callFilling)
}

// Answer ends a question with the value of a handler on this node, or with err. It reports whether
// a caller still waited.
func (a *Table) Answer(id uint64, v any, err error) bool {
	c, ok := a.claim(id)
	if !ok {
		return false
	}
	if err == nil {
		err = c.sink.Accept(v)
	}
	c.fill(err)
	return true
}

// AnswerBody is Answer for an encoded reply.
func (a *Table) AnswerBody(id uint64, body []byte, err error) bool {
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

func (c *Call) fill(err error) {
	c.err = err
	c.done <- struct{}{}
}

// Await waits until a question is answered or ctx ends, and frees its slot. sent is the outcome of
// sending it: an error ends the question, unless it was answered all the same.
func (a *Table) Await(ctx context.Context, c *Call, sent error) error {
	defer a.end(c)
	err := sent
	switch {
	case sent == nil:
		err = a.wait(ctx, c)
	case !c.abandon():
		a.scheduler.Await(c.done, nil, nil)
		err = c.err
	}
	if err == nil {
		return nil
	}
	if err = timedOut(err); errors.Is(err, failure.ErrTimeout) {
		a.late.Add(1)
	}
	return err
}

// wait waits until a question is filled in or ctx ends, and returns its error.
func (a *Table) wait(ctx context.Context, c *Call) error {
	if a.scheduler.Await(c.done, ctx.Done(), nil) == 0 {
		return c.err
	}
	if c.abandon() {
		return ctx.Err()
	}
	a.scheduler.Await(c.done, nil, nil) // a reply is being filled in
	return c.err
}

// timedOut makes ErrTimeout of a context's deadline, so that callers match one error.
func timedOut(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, failure.ErrTimeout) {
		return fmt.Errorf("%w: %w", failure.ErrTimeout, err)
	}
	return err
}

// abandon ends the question without a reply, unless one is being filled in.
func (c *Call) abandon() bool {
	s := c.state.Load()
	return s&phaseMask == callWaiting && c.state.CompareAndSwap(s, s-callWaiting+callFilling)
}

// Sweep fails the questions that wait beyond their deadline or for a node that is gone. It reports
// whether any are under way. gone is nil when no node has gone.
func (a *Table) Sweep(gone func(node uint64) bool) (pending bool) {
	now := a.clock()
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
func (a *Table) FailAll(err error) {
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
