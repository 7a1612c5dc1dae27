package dataplane

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Duties are the questions that handlers of this region have left open by Context.Responder. A node
// that leaves waits for their answers.
//
// A user may forget a question that it has taken, so one that is older than EntityType.Timeouts.Ask
// is not waited for: its asker has most likely gone. It is kept all the same, because an asker with
// more time must hear that no answer comes. When there are dutiesMax of them the oldest makes room,
// if it is that old, and its asker is told so.
type Duties struct {
	SlowAfter time.Duration // AskTimeout

	mu      sync.Mutex
	Open    map[Duty]*list.Element // of byAge
	ByAge   list.List              // of openDuty, the oldest first
	settled runloop.Progress       // questions were answered
}

// Duty names a question: its number and the node of its asker.
type Duty struct{ Call, Origin uint64 }

// openDuty is a question that was not answered.
type openDuty struct {
	Duty
	taken time.Duration // on the region's clock
}

// DutiesMax is how many questions a region keeps open.
const DutiesMax = 1 << 16

// Take notes a question, unless there are too many young ones. forgotten is one that has made room.
func (d *Duties) Take(q Duty, now time.Duration) (forgotten Duty, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Open == nil {
		d.Open = map[Duty]*list.Element{}
	}
	if len(d.Open) == DutiesMax {
		oldest := d.ByAge.Front().Value.(openDuty)
		if oldest.taken+d.SlowAfter > now {
			return Duty{}, false
		}
		forgotten = oldest.Duty
		d.removeLocked(forgotten)
	}
	d.removeLocked(q)
	d.Open[q] = d.ByAge.PushBack(openDuty{q, now})
	return forgotten, true
}

// Settle ends a duty: the question was answered.
func (d *Duties) Settle(q Duty) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeLocked(q)
	d.settled.Made()
}

func (d *Duties) removeLocked(q Duty) {
	if x := d.Open[q]; x != nil {
		d.ByAge.Remove(x)
		delete(d.Open, q)
	}
}

// SweepLocked removes what is too old, and returns it, and how long the youngest of the others has.
func (d *Duties) SweepLocked(now time.Duration) (old []Duty, left time.Duration) {
	for x := d.ByAge.Front(); x != nil; x = d.ByAge.Front() {
		q := x.Value.(openDuty)
		if q.taken+d.SlowAfter > now {
			return old, d.ByAge.Back().Value.(openDuty).taken + d.SlowAfter - now
		}
		d.removeLocked(q.Duty)
		old = append(old, q.Duty)
	}
	return old, 0
}

// Await waits until all are settled, or too old. It returns those that are too old.
func (d *Duties) Await(ctx context.Context, s scheduler.Scheduler,
	clock func() time.Duration) (old []Duty, err error) {
	for {
		d.mu.Lock()
		swept, left := d.SweepLocked(clock())
		old = append(old, swept...)
		open, settled := len(d.Open), d.settled.Next()
		d.mu.Unlock()
		if open == 0 {
			return old, nil
		}
		tooOld := make(chan struct{})
		t := s.AfterFunc(left, func() { close(tooOld) })
		over := s.Await(settled, tooOld, ctx.Done()) == 2
		t.Stop()
		if over {
			return old, fmt.Errorf("%d questions that handlers have taken by Context.Responder are not answered: %w",
				open, context.Cause(ctx))
		}
	}
}

// Owe notes that a handler has taken a question and will answer it. It returns false if there is no
// room for one more.
func (b *Outbox) Owe(q Duty) bool {
	forgotten, ok := b.Duties.Take(q, b.clock())
	if forgotten != (Duty{}) {
		b.drops.Drop(failure.DropUnanswered, -1, "", nil)
		b.ReplyError(Envelope{Call: forgotten.Call, Origin: forgotten.Origin}, codec.StatusFull,
			fmt.Sprintf("a handler has taken the question by Context.Responder and not answered it, and %d came "+
				"after it", DutiesMax-1))
	}
	return ok
}
