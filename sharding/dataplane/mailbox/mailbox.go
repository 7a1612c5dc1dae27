package mailbox

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/failure"
)

// phase is what a mailbox waits for.
//
//	         push               worker               emptied
//	idle ───────────► queued ───────────► running ─────────────► idle ──► closed (removed while empty)
//	                    ▲                   │ hold
//	                    └──── release ──── held
type phase uint8

const (
	idle    phase = iota // empty, in no list
	queued               // in the pool's run queue
	running              // a worker has it
	closed               // refuses pushes; a new entity of the same id may exist
	held                 // something else than a message is awaited: this and a HoldReason is the phase
)

// heldFor is the phase of a mailbox that is held for a reason.
func heldFor(why HoldReason) phase { return held + phase(why) }

// traits are what else a mailbox is.
type traits uint8

const (
	started  traits = 1 << iota // the shard's machine counts the entity as active
	sealed                      // refuses messages; what waits is still handled
	internal                    // control envelopes or a receive timeout may wait
	excess                      // the worker has taken more than may wait
)

func (t traits) are(what traits) bool { return t&what != 0 }

// Verdict is what became of a push.
type Verdict uint8

// The verdicts.
const (
	Accepted    Verdict = iota
	Full                // as many messages wait as may
	Heavy               // the mailbox holds as many bytes as it may
	HeavyRegion         // all mailboxes of the region do
	HeavyNode           // all mailboxes of the node do
	Refused             // the shard takes no messages: look for another route
	Gone                // the entity has ended: look it up again
)

// Mailbox is the queue of one entity and the place where its single writer is decided.
//
// It takes 64 bytes, a cache line that goes from the sender's processor to the worker's and back, once for
// each Turn. While that lasts the worker needs the Turn alone, so that senders write beside it undisturbed.
//
// Invariants: turn is not nil if and only if the phase is running. An empty chunk is kept only while queued or
// running.
type Mailbox struct {
	mu      sync.Mutex
	phase   phase
	is      traits
	Weight           // of messages of other nodes that it holds, taken ones too
	waiting queue    // what no worker has taken
	turn    *Turn    // of the worker that has the mailbox
	waiters *waiters // nil for most
}

// Turn is what a worker has of a mailbox while that runs: from Refill until that finds nothing, GiveBack or
// Hold. A worker has one, and uses it for one mailbox after the other.
type Turn struct {
	taken queue  // what it has not handled yet; empty, it keeps a chunk for a mailbox that needs one
	over  uint32 // how many more than may wait were taken; under the mailbox's lock
}

// Taken is how many messages the worker has taken and not handled yet.
func (t *Turn) Taken() int { return int(t.taken.len) }

// Next is the first message that the worker has taken; ok is false when all are handled.
func (t *Turn) Next() (e Envelope, size uint32, ok bool) { return t.taken.pop() }

// PutBack puts an envelope before what the worker has not handled.
func (t *Turn) PutBack(e Envelope, size uint32) { t.taken.putBack(e, size) }

// waiters are told of what happens to a mailbox. Few mailboxes have any: nil.
type waiters struct {
	drain *Drain        // is told when the mailbox rests; nil: none
	room  chan struct{} // closed when there may be room; nil: none waits for it
}

// wake lets the senders that wait for room try again.
func (w *waiters) wake() {
	if w != nil && w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// HoldReason is what a held mailbox waits for.
type HoldReason uint8

const (
	// the shard's machine: the id is being remembered or forgotten, or the start has not arrived
	// yet
	ForStart   HoldReason = iota
	ForBackoff            // the restart after a failure
	ForLease              // the return of the lease
	ForResult             // the rest of the message at hand, which waits for a result from outside
)

// Command is what a control envelope asks for.
type Command uint8

const (
	StopNow  Command = iota + 1 // end the incarnation; what follows is for the next
	StartNow                    // make the incarnation without a message: the id is remembered, or failed
	Continue                    // the result is there that the message at hand has waited for
)

// HoldNew holds a mailbox that no other goroutine knows yet, until Begin.
func (m *Mailbox) HoldNew() { m.phase = heldFor(ForStart) }

// Push queues an envelope. schedule is true when the caller has to put the entity on the run queue.
func (m *Mailbox) Push(e Envelope, size uint32, limit int) (v Verdict, schedule bool) {
	m.mu.Lock()
	if v = m.admitLocked(limit); v == Accepted {
		m.waiting.push(e, size)
		if e.Internal() {
			m.is |= internal
		}
		if m.phase == idle {
			m.phase, schedule = queued, true
		}
	}
	m.mu.Unlock()
	return v, schedule
}

// PushAll is Push of the messages of a chain, none of which is this package's own. What is left in the chain
// was not taken: v says why of the first one. Accepted: all were.
func (m *Mailbox) PushAll(b *Batch, c *Chain, limit int) (v Verdict, schedule bool) {
	m.mu.Lock()
	for c.n > 0 {
		if v = m.admitLocked(limit); v != Accepted {
			break
		}
		env, size, _ := b.First(c)
		b.Drop(c)
		m.waiting.push(env, size)
		if m.phase == idle {
			m.phase, schedule = queued, true
		}
	}
	m.mu.Unlock()
	return v, schedule
}

// admitLocked says what becomes of one more message.
func (m *Mailbox) admitLocked(limit int) Verdict {
	switch {
	case m.phase == closed:
		return Gone
	case m.is.are(sealed):
		return Refused
	case m.fullLocked(limit):
		return Full
	}
	return Accepted
}

// fullLocked reports whether no more may wait. A turn that ended early gives back what it took, so
// the next one takes more than may wait; the excess counts until that is handled, so that a mailbox
// never holds more than twice the limit.
func (m *Mailbox) fullLocked(limit int) bool {
	n := int(m.waiting.len)
	if m.is.are(excess) { // or it would have to look at what the worker writes to
		n += int(m.turn.over)
	}
	return n >= limit
}

// Command queues a control envelope for the incarnation that is there: no limit holds for it, a
// sealed mailbox takes it, and a backoff ends.
func (m *Mailbox) Command(c Command) (schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase == closed || !m.is.are(started) {
		return false
	}
	e := Envelope{Msg: c, Call: ControlCall}
	if m.phase == heldFor(ForBackoff) { // no incarnation is there, so nothing has to be handled before
		m.waiting.putBack(e, 0)
	} else {
		m.waiting.push(e, 0)
	}
	m.is |= internal
	if m.phase == idle || m.phase == heldFor(ForBackoff) {
		m.phase, schedule = queued, true
	}
	return schedule
}

// Again puts a control envelope before what the worker has not handled. It is the worker's.
func (m *Mailbox) Again(c Command) {
	m.turn.PutBack(Envelope{Msg: c, Call: ControlCall}, 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.is |= internal
}

// Begin is the start by the shard's machine. An entity without a message gets a control envelope
// that makes it.
func (m *Mailbox) Begin() (schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is.are(started) || m.phase == closed {
		return false
	}
	m.is |= started
	if m.waiting.len == 0 {
		m.waiting.push(Envelope{Msg: StartNow, Call: ControlCall}, 0)
		m.is |= internal
	}
	if m.phase == heldFor(ForStart) {
		m.phase, schedule = queued, true
	}
	return schedule
}

// Release ends a hold and reports whether the caller has to put the entity on the run queue.
func (m *Mailbox) Release(why HoldReason) (schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase != heldFor(why) {
		return false
	}
	m.phase = idle
	if m.waiting.len > 0 {
		m.phase, schedule = queued, true
	}
	return schedule
}

// Proceed ends a hold for a result with a control envelope before all that waits. It reports whether
// the mailbox was held for one: then the caller has to put the entity on the run queue.
func (m *Mailbox) Proceed(c Command) (schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase != heldFor(ForResult) {
		return false
	}
	m.waiting.putBack(Envelope{Msg: c, Call: ControlCall}, 0)
	m.is, m.phase = m.is|internal, queued
	return true
}

// State is what a mailbox was at one moment.
type State struct {
	Started bool // the shard's machine counts the entity as active
	Waiting int  // how many messages no worker has taken yet
	phase   phase
}

// IsIdle reports whether nothing waited and no worker had the mailbox.
func (s State) IsIdle() bool { return s.phase == idle }

// Runs reports whether a worker had the mailbox.
func (s State) Runs() bool { return s.phase == running }

// IsClosed reports whether the mailbox was closed, which is permanent.
func (s State) IsClosed() bool { return s.phase == closed }

// Awaits reports whether the mailbox was held for that reason.
func (s State) Awaits(why HoldReason) bool { return s.phase == heldFor(why) }

// State looks at the mailbox.
func (m *Mailbox) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{m.is.are(started), int(m.waiting.len), m.phase}
}

// CopyStarted stores whether the mailbox is started, and nothing changes that meanwhile.
func (m *Mailbox) CopyStarted(to *atomic.Bool) {
	m.mu.Lock()
	to.Store(m.is.are(started))
	m.mu.Unlock()
}

// Refill begins a worker's turn, or goes on with it when all that was taken is handled: it moves what waits
// into the turn. limit is how many may wait. When there is nothing, the mailbox becomes idle and ok is
// false; rested is the drain that must be told of it.
func (m *Mailbox) Refill(t *Turn, limit int) (ok bool, rested *Drain) {
	m.mu.Lock()
	m.checkTurnLocked(t)
	if m.waiting.len == 0 {
		m.endTurnLocked(t, idle)
		m.waiters.wake() // what was more than may wait has been handled
		rested = m.restLocked()
		m.mu.Unlock()
		return false, rested
	}
	m.phase, m.turn = running, t
	t.taken, m.waiting = m.waiting, t.taken
	m.is &^= excess
	if t.over = uint32(max(0, int(t.taken.len)-limit)); t.over > 0 {
		m.is |= excess
	}
	m.waiters.wake()
	m.mu.Unlock()
	return true, nil
}

// checkTurnLocked panics if the worker of another turn has the mailbox, or a turn is left undone.
func (m *Mailbox) checkTurnLocked(t *Turn) {
	if m.turn != nil && m.turn != t || t.taken.len > 0 {
		panic(fmt.Sprintf("sharding: mailbox: a worker with %d messages takes more, in the turn of another: %t",
			t.taken.len, m.turn != nil && m.turn != t))
	}
}

// Each calls fn for the messages that the mailbox holds, in any order, except control envelopes. It
// is for simulations, in which nothing runs meanwhile.
func (m *Mailbox) Each(fn func(Envelope)) {
	m.waiting.each(fn)
	if m.turn != nil {
		m.turn.taken.each(fn)
	}
}

// endTurnLocked takes the mailbox from its worker, with what that has not handled. An empty chunk stays with the
// mailbox if that is busy, and otherwise with the worker.
func (m *Mailbox) endTurnLocked(t *Turn, to phase) {
	if m.turn != nil {
		m.waiting.prepend(&t.taken)
		m.turn, m.is = nil, m.is&^excess
	}
	if m.phase = to; to == queued {
		m.waiting.borrow(&t.taken)
		return
	}
	t.taken.borrow(&m.waiting)
	m.waiting.trim()
}

// GiveBack ends the worker's turn with what it has not handled yet: to be queued again at once. So it is if
// nothing waits: a sender that comes before the next turn then has no worker to call, and what several bring
// is taken together.
func (m *Mailbox) GiveBack() {
	m.mu.Lock()
	m.endTurnLocked(m.turn, queued)
	m.mu.Unlock()
}

// Hold ends the worker's turn: nothing is handled until the hold ends. A sealed mailbox does not wait
// for a restart while it has messages: then schedule is true, and the caller has to put the entity on
// the run queue.
func (m *Mailbox) Hold(why HoldReason) (rested *Drain, schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endTurnLocked(m.turn, heldFor(why))
	if schedule = why == ForBackoff && m.is.are(sealed) && m.waiting.len > 0; schedule {
		m.phase = queued
	}
	m.waiters.wake() // as in refill
	if why == ForStart {
		m.is &^= started
		if m.is.are(internal) { // it was meant for the incarnation that has ended
			m.is &^= internal
			m.waiting.dropInternal()
		}
	}
	return m.restLocked(), schedule
}

// CloseEmpty closes a held mailbox in which nothing waits.
func (m *Mailbox) CloseEmpty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase < held || m.waiting.len > 0 || m.is.are(started) {
		return false
	}
	m.phase = closed
	return true
}

// seal refuses messages from now on. rests reports whether the mailbox rests already. If not, d is
// told when it comes to rest. What waits for a restart is handled at once: had it moved on with the
// shard, messages that wait on other nodes could overtake it. schedule is true when the caller has to
// put the entity on the run queue for that.
func (m *Mailbox) seal(d *Drain) (rests, schedule bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.is |= sealed
	if rests = m.restsLocked(); !rests {
		m.waitersLocked().drain = d
		if schedule = m.phase == heldFor(ForBackoff); schedule {
			m.phase = queued
		}
	}
	m.waiters.wake() // to look for another way
	return rests, schedule
}

// Unseal opens a sealed mailbox again.
func (m *Mailbox) Unseal() {
	m.mu.Lock()
	m.is &^= sealed
	if m.waiters != nil {
		m.waiters.drain = nil
	}
	m.mu.Unlock()
}

// restsLocked reports whether no message waits, none is unfinished, and no handler runs.
func (m *Mailbox) restsLocked() bool {
	if m.waiting.len > 0 {
		return false
	}
	return m.phase != queued && m.phase != running && m.phase != heldFor(ForResult)
}

// restLocked returns the drain that must be told that the mailbox has come to rest; nil: none.
func (m *Mailbox) restLocked() (rested *Drain) {
	if m.waiters != nil && m.waiters.drain != nil && m.restsLocked() {
		rested, m.waiters.drain = m.waiters.drain, nil
	}
	return rested
}

// Shut closes the mailbox permanently and hands what was in it to out, in order, unless a worker has
// it or will: then the worker does so. It reports whether this call has closed the mailbox: then
// what was the worker's is the caller's.
func (m *Mailbox) Shut(out func(Envelope, uint32)) (closes bool) {
	m.mu.Lock()
	m.is |= sealed
	m.waiters.wake()
	if m.phase == running || m.phase == queued {
		m.mu.Unlock()
		return false
	}
	closes = m.phase != closed
	m.phase = closed
	rest, rested := m.waiting.take(), m.restLocked()
	m.mu.Unlock()
	for e, size, ok := rest.pop(); ok; e, size, ok = rest.pop() {
		out(e, size)
	}
	rest.trim()
	rested.Settled()
	return closes
}

// RoomAfter returns a channel that is closed when room may have come up, nil when there is some
// already.
func (m *Mailbox) RoomAfter(limit int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fullLocked(limit) || m.phase == closed || m.is.are(sealed) {
		return nil
	}
	w := m.waitersLocked()
	if w.room == nil {
		w.room = make(chan struct{})
	}
	return w.room
}

// waitersLocked returns the mailbox's waiters, made when there are none.
func (m *Mailbox) waitersLocked() *waiters {
	if m.waiters == nil {
		m.waiters = &waiters{}
	}
	return m.waiters
}

// Drop returns the reason of a drop for want of room in a mailbox; is is false for the other
// verdicts.
func (v Verdict) Drop() (reason failure.DropReason, is bool) {
	switch v {
	case Full:
		return failure.DropMailboxFull, true
	case Heavy:
		return failure.DropMailboxBytes, true
	case HeavyRegion:
		return failure.DropRegionFull, true
	case HeavyNode:
		return failure.DropNodeFull, true
	}
	return 0, false
}
