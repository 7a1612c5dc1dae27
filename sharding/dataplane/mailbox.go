package dataplane

import (
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
	Running              // a worker has it
	held                 // something else than a message is awaited: the remembering of the id, the backoff, the lease
	closed               // refuses pushes; a new entity of the same id may exist
)

// verdict is what became of a push.
type verdict uint8

// The verdicts.
const (
	Accepted    verdict = iota
	full                // as many messages wait as may
	heavy               // the mailbox holds as many bytes as it may
	heavyRegion         // all mailboxes of the region do
	heavyNode           // all mailboxes of the node do
	Refused             // the shard takes no messages: look for another route
	gone                // the entity has ended: look it up again
)

// mailbox is the queue of one entity and the place where its single writer is decided.
//
// What a message that finds it empty needs of it is in its first 64 bytes, a cache line that goes
// from the sender's processor to the worker's and back.
type mailbox struct {
	Mu       sync.Mutex
	Phase    phase
	why      holdReason    // while held
	started  bool          // the shard's machine counts the entity as active
	sealed   bool          // refuses messages; what waits is still handled
	internal bool          // control envelopes or a receive timeout may wait
	fresh    bool          // the worker's: no message of this turn has counted as a use yet
	over     uint32        // how many more than may wait were taken
	Seen     atomic.Uint32 // the region's tick in which a message was last handled
	First    Envelope      // of waiting, or of taken: the worker's while it runs
	Waiting  queue
	// taken is what the worker took and has not handled yet. The worker owns it; it is empty while
	// no worker has the mailbox.
	taken queue
	bytes atomic.Uint32 // of messages of other nodes that it holds, taken ones too
	*waiters
}

// waiters are told of what happens to a mailbox. Few mailboxes have any: nil.
type waiters struct {
	drain *drain        // is told when the mailbox rests; nil: none
	room  chan struct{} // closed when there may be room; nil: none waits for it
}

// holdReason is what a held mailbox waits for.
type holdReason uint8

const (
	// the shard's machine: the id is being remembered or forgotten, or the start has not arrived
	// yet
	forStart   holdReason = iota
	forBackoff            // the restart after a failure
	ForLease              // the return of the lease
)

// command is what a control envelope asks for.
type command uint8

const (
	StopNow  command = iota + 1 // end the incarnation; what follows is for the next
	startNow                    // make the incarnation without a message: the id is remembered, or failed
)

// Push queues an envelope. schedule is true when the caller has to put the entity on the run queue.
func (m *mailbox) Push(e Envelope, size uint32, limit int) (v verdict, schedule bool) {
	m.Mu.Lock()
	switch {
	case m.Phase == closed:
		v = gone
	case m.sealed:
		v = Refused
	case m.fullLocked(limit):
		v = full
	default:
		m.Waiting.push(e, size, m.placeLocked())
		m.internal = m.internal || e.internal()
		if m.Phase == idle {
			m.Phase, schedule = queued, true
		}
	}
	m.Mu.Unlock()
	return v, schedule
}

// placeLocked is where the first message may stand. While a worker has the mailbox that is where
// the first of those stands that it has taken.
func (m *mailbox) placeLocked() *Envelope {
	if m.Phase == Running {
		return nil
	}
	return &m.First
}

// fullLocked reports whether no more may wait. A turn that ended early gives back what it took, so
// the next one takes more than may wait; the excess counts until that is handled, so that a mailbox
// never holds more than twice the limit.
func (m *mailbox) fullLocked(limit int) bool {
	return int(m.Waiting.Len+m.over) >= limit
}

// command queues a control envelope for the incarnation that is there: no limit holds for it, a
// sealed mailbox takes it, and a backoff ends.
func (m *mailbox) command(c command) (schedule bool) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Phase == closed || !m.started {
		return false
	}
	e := Envelope{Msg: c, Call: ControlCall}
	if m.Phase == held && m.why == forBackoff { // no incarnation is there, so nothing has to be handled before
		var front queue
		front.push(e, 0, nil)
		m.Waiting.prepend(&front, &m.First)
	} else {
		m.Waiting.push(e, 0, m.placeLocked())
	}
	m.internal = true
	if m.Phase == idle || m.Phase == held && m.why == forBackoff {
		m.Phase, schedule = queued, true
	}
	return schedule
}

// again puts a control envelope before what the worker has not handled.
func (m *mailbox) again(c command) {
	var front queue
	front.push(Envelope{Msg: c, Call: ControlCall}, 0, nil)
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.taken.prepend(&front, &m.First)
	m.internal = true
}

// begin is the start by the shard's machine. An entity without a message gets a control envelope
// that makes it.
func (m *mailbox) begin() (schedule bool) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.started || m.Phase == closed {
		return false
	}
	m.started = true
	if m.Waiting.Len == 0 {
		m.Waiting.push(Envelope{Msg: startNow, Call: ControlCall}, 0, m.placeLocked())
		m.internal = true
	}
	if m.Phase == held && m.why == forStart {
		m.Phase, schedule = queued, true
	}
	return schedule
}

// release ends a hold and reports whether the caller has to put the entity on the run queue.
func (m *mailbox) release(why holdReason) (schedule bool) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Phase != held || m.why != why {
		return false
	}
	m.Phase = idle
	if m.Waiting.Len > 0 {
		m.Phase, schedule = queued, true
	}
	return schedule
}

// isIdle reports whether nothing waits and no worker has the mailbox.
func (m *mailbox) isIdle() bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.Phase == idle
}

// IsClosed reports whether the mailbox is closed permanently.
func (m *mailbox) IsClosed() bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.Phase == closed
}

// IsStarted reports whether the shard's machine counts the entity as active.
func (m *mailbox) IsStarted() bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.started
}

// awaits reports whether the mailbox is held for that reason.
func (m *mailbox) awaits(why holdReason) bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.Phase == held && m.why == why
}

// Refill moves what waits into taken, for the worker; limit is how many may wait. When there is
// nothing, the mailbox becomes idle and ok is false; rested is the drain that must be told of it.
func (m *mailbox) Refill(limit int) (ok bool, rested *drain) {
	m.Mu.Lock()
	if m.Waiting.Len == 0 {
		m.Phase, m.over = idle, 0
		m.wakeLocked() // what was more than may wait has been handled
		rested = m.restLocked()
		m.Mu.Unlock()
		return false, rested
	}
	m.Phase = Running
	m.taken = m.Waiting.Take()
	m.over = uint32(max(0, int(m.taken.Len)-limit))
	m.wakeLocked()
	m.Mu.Unlock()
	return true, nil
}

// wakeLocked lets the senders that wait for room try again.
func (m *mailbox) wakeLocked() {
	if m.waiters != nil && m.room != nil {
		close(m.room)
		m.room = nil
	}
}

// giveBack ends the worker's turn with what it has not handled yet: to be queued again at once.
func (m *mailbox) giveBack() {
	m.Mu.Lock()
	m.Waiting.prepend(&m.taken, &m.First)
	m.Phase, m.over = queued, 0
	m.Mu.Unlock()
}

// hold ends the worker's turn: nothing is handled until the hold ends.
func (m *mailbox) hold(why holdReason) (rested *drain) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Waiting.prepend(&m.taken, &m.First)
	m.Phase, m.why, m.over = held, why, 0
	m.wakeLocked() // as in refill
	if why == forStart {
		m.started = false
		m.dropInternalLocked()
	}
	return m.restLocked()
}

// dropInternalLocked takes out what was meant for the incarnation that has ended.
func (m *mailbox) dropInternalLocked() {
	if !m.internal {
		return
	}
	m.internal = false
	all := m.Waiting.Take()
	for e, size, ok := all.Pop(&m.First); ok; e, size, ok = all.Pop(&m.First) {
		if !e.internal() {
			m.Waiting.push(e, size, &m.First)
		}
	}
}

// closeEmpty closes a held mailbox in which nothing waits.
func (m *mailbox) closeEmpty() bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Phase != held || m.Waiting.Len > 0 || m.started {
		return false
	}
	m.Phase = closed
	return true
}

// seal refuses messages from now on. It reports whether the mailbox rests already. If not, d is
// told when it comes to rest.
func (m *mailbox) seal(d *drain) (rests bool) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.sealed = true
	if rests = m.restsLocked(); !rests {
		m.waitersLocked().drain = d
	}
	m.wakeLocked() // to look for another way
	return rests
}

// unseal opens a sealed mailbox again.
func (m *mailbox) unseal() {
	m.Mu.Lock()
	m.sealed = false
	if m.waiters != nil {
		m.drain = nil
	}
	m.Mu.Unlock()
}

// restsLocked reports whether no message waits and no handler runs. What waits for a restart goes
// on with the shard, or a handler that keeps failing would hold up the hand-off.
func (m *mailbox) restsLocked() bool {
	return m.Phase == held && m.why == forBackoff ||
		m.Waiting.Len == 0 && (m.Phase == idle || m.Phase == held || m.Phase == closed)
}

// restLocked returns the drain that must be told that the mailbox has come to rest; nil: none.
func (m *mailbox) restLocked() (rested *drain) {
	if m.waiters != nil && m.drain != nil && m.restsLocked() {
		rested, m.drain = m.drain, nil
	}
	return rested
}

// shut closes the mailbox permanently and returns what was in it, unless a worker has it or will:
// then the worker does.
func (m *mailbox) shut() (rest queue, rested *drain) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.sealed = true
	m.wakeLocked()
	if m.Phase == Running || m.Phase == queued {
		return queue{}, nil
	}
	m.Phase = closed
	rest = m.Waiting.Take()
	return rest, m.restLocked()
}

// roomAfter returns a channel that is closed when room may have come up, nil when there is some
// already.
func (m *mailbox) roomAfter(limit int) <-chan struct{} {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if !m.fullLocked(limit) || m.Phase == closed || m.sealed {
		return nil
	}
	w := m.waitersLocked()
	if w.room == nil {
		w.room = make(chan struct{})
	}
	return w.room
}

// waitersLocked returns the mailbox's waiters, made when there are none.
func (m *mailbox) waitersLocked() *waiters {
	if m.waiters == nil {
		m.waiters = &waiters{}
	}
	return m.waiters
}

// drop returns the reason of a drop for want of room in a mailbox; is is false for the other
// verdicts.
func (v verdict) drop() (reason failure.DropReason, is bool) {
	switch v {
	case full:
		return failure.DropMailboxFull, true
	case heavy:
		return failure.DropMailboxBytes, true
	case heavyRegion:
		return failure.DropRegionFull, true
	case heavyNode:
		return failure.DropNodeFull, true
	}
	return 0, false
}
