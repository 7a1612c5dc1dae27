package calls

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/fifo"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// hosting is what one stay of a shard asks of the stores.
//
// Invariants: waiting counts the Ops that wait in the lanes of each store; running the calls of all
// lanes.
type hosting struct {
	id      Hosting
	lanes   [lanes]*lane // nil: never needed
	waiting [ports]int   // by store
	running int
	ended   error // nil: it goes on
}

// lane returns one of the lanes, for calls of a store.
func (h *hosting) lane(n, store int) *lane {
	if h.lanes[n] == nil {
		h.lanes[n] = &lane{hosting: h, store: store, fence: n >= fenceLane}
	}
	return h.lanes[n]
}

// follow has a deletion, which joins a lane, wait for the newest write of its entity. It looks at all
// writes of the shard that are not done: deletions are few.
func (h *hosting) follow(o *Op, l *lane) {
	k := kinds[o.Kind]
	if writes := h.lanes[k.after]; !k.write && !k.many && writes != nil {
		if o.after = writes.newest(o.Entity); o.after != nil {
			o.after.frees = l
		}
	}
}

// blame says why those that wait for the fence of a store wait.
func (h *hosting) blame(store int, err error) {
	for _, l := range h.lanes {
		if l == nil || l.store != store {
			continue
		}
		for _, o := range l.queue.Items() {
			o.last = fmt.Errorf("fence: %w", err)
		}
	}
}

// lane is what waits for calls that follow one another.
//
// Invariants: at most one call; the Ops that wait are in stage waiting, those of the call are in
// stage called or over.
type lane struct {
	hosting *hosting
	store   int
	fence   bool // it is for Fence alone, and nothing waits in it
	fenced  bool // of a fence lane: the hosting has begun

	queue fifo.Queue[*Op]
	bytes int // of the queue
	call  *Call

	gather  gather    // of writes
	tries   int       // calls that failed since one succeeded
	resumes time.Time // after a failure: no call before
	failing bool      // it counts among the failing ones of its store
	ready   bool      // it stands in line for a call

	alarm time.Time // zero: none
	place int       // among the alarms
}

// startAt returns when the next call may begin. ok is false if there is nothing to call for.
func (l *lane) startAt(s *Settings) (at time.Time, ok bool) {
	if l.call != nil || l.hosting.ended != nil {
		return at, false
	}
	if l.fence {
		return l.resumes, !l.fenced && l.hosting.waiting[l.store] > 0
	}
	if f := l.hosting.lanes[fenceLane+l.store]; l.queue.Len() == 0 || !f.fenced {
		return at, false
	}
	first := l.first()
	if first == nil {
		return at, false
	}
	at = l.resumes
	if kinds[first.Kind].write && first.last == nil && l.queue.Len() < s.BatchMax && l.bytes < s.BytesMax {
		at = timer.Latest(at, l.gather.waits(l.queue.Len()))
		if s.Linger > 0 {
			at = timer.Latest(at, first.asked(s).Add(s.Linger))
		}
	}
	return at, true
}

// nextAlarm returns when the lane has to be looked at, beside the start of a call.
func (l *lane) nextAlarm(s *Settings) time.Time {
	var next timer.Next
	for _, o := range l.queue.Items() {
		next.DueAt(o.until)
		if o.last == nil { // those behind have later deadlines
			break
		}
	}
	if c := l.call; c != nil {
		if !c.slow {
			next.DueAt(c.began.Add(s.SlowAfter))
		}
		if !c.hangs {
			next.DueAt(c.began.Add(s.CallTimeout + HangAfter))
		}
		next.DueAt(c.until)
	}
	return next.Due
}

// first is the Op that the next call is about; nil if all are held.
func (l *lane) first() *Op {
	for _, o := range l.queue.Items() {
		if !o.held() {
			return o
		}
	}
	return nil
}

// newest returns the Op of an entity that came last, and is not done; nil: there is none.
func (l *lane) newest(id protocol.EntityID) *Op {
	for _, o := range slices.Backward(l.queue.Items()) {
		if o.Entity == id {
			return o
		}
	}
	if l.call != nil {
		for _, o := range l.call.Ops {
			if o.Entity == id && o.stage == called {
				return o
			}
		}
	}
	return nil
}

// push lets an Op wait.
func (l *lane) push(o *Op) {
	o.stage = waiting
	l.queue.Push(o)
	l.bytes += o.Bytes
	l.hosting.waiting[l.store]++
}

// take removes what the next call is about: the first Op that is not held, and those behind it that
// may share its call. An entity has one Op in a call. seen is empty memory.
func (l *lane) take(s *Settings, seen map[protocol.EntityID]bool) (ops []*Op) {
	all, first := l.queue.Items(), l.first()
	n, bytes, inOrder := 0, 0, true
	for _, o := range all {
		if n > 0 && (o.alone || first.alone || !kinds[o.Kind].many || n == s.BatchMax || bytes+o.Bytes > s.BytesMax) {
			break
		}
		if seen[o.Entity] || o.held() {
			inOrder = false
			continue
		}
		if len(all) > 1 {
			seen[o.Entity] = true
		}
		n, bytes = n+1, bytes+o.Bytes
		o.stage = called
		ops = append(ops, o)
	}
	l.bytes -= bytes
	l.hosting.waiting[l.store] -= n
	if inOrder {
		l.queue.Pop(n)
	} else {
		l.queue.Drop(func(o *Op) bool { return o.stage == called })
	}
	return ops
}

// putBack lets the Ops of a call that failed wait again, before all others.
func (l *lane) putBack(ops []*Op) {
	behind := slices.Clone(l.queue.Items())
	l.queue = fifo.Queue[*Op]{}
	for _, o := range ops {
		if o.stage == called {
			l.push(o)
		}
	}
	for _, o := range behind {
		l.queue.Push(o)
	}
}

// drop removes those that wait and that gone selects.
func (l *lane) drop(gone func(*Op) bool) (dropped []*Op) {
	l.queue.Drop(func(o *Op) bool {
		if !gone(o) {
			return false
		}
		l.bytes -= o.Bytes
		l.hosting.waiting[l.store]--
		dropped = append(dropped, o)
		return true
	})
	return dropped
}
