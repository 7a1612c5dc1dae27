package asks

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
)

// Duties are the questions that handlers of this region have left open by Context.Responder. A node
// that leaves waits for their answers.
//
// A user may forget a question that it has taken, so one that is older than EntityType.Timeouts.Ask
// is not waited for: its asker has most likely gone. It is kept all the same, because an asker with
// more time must hear that no answer comes. When there are DutiesMax of them the oldest makes room,
// if it is that old, and its asker is told so.
type Duties struct {
	clock func() time.Duration // of the region
	slow  time.Duration        // an older question is not waited for

	mu      sync.Mutex
	open    map[Duty]*list.Element // of byAge
	byAge   list.List              // of openDuty, the oldest first
	settled runloop.Progress       // questions were answered
}

// Duty names a question: its number and the node of its asker.
type Duty struct{ Call, Origin uint64 }

// NewDuties makes what no handler owes anything of. A question that is older than slow, by clock, is
// not waited for.
func NewDuties(slow time.Duration, clock func() time.Duration) *Duties {
	return &Duties{slow: slow, clock: clock, open: map[Duty]*list.Element{}}
}

// openDuty is a question that was not answered.
type openDuty struct {
	Duty
	taken time.Duration // on the region's clock
}

// DutiesMax is how many questions a region keeps open.
const DutiesMax = 1 << 16

// Take notes a question, unless there are too many young ones. forgotten is one that has made room.
func (d *Duties) Take(q Duty) (forgotten Duty, ok bool) {
	now := d.clock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == DutiesMax {
		oldest := d.byAge.Front().Value.(openDuty)
		if oldest.taken+d.slow > now {
			return Duty{}, false
		}
		forgotten = oldest.Duty
		d.removeLocked(forgotten)
	}
	d.removeLocked(q)
	d.open[q] = d.byAge.PushBack(openDuty{q, now})
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
	if x := d.open[q]; x != nil {
		d.byAge.Remove(x)
		delete(d.open, q)
	}
}

// sweepLocked removes what is too old, and returns it, and how long the youngest of the others has.
func (d *Duties) sweepLocked(now time.Duration) (old []Duty, left time.Duration) {
	for x := d.byAge.Front(); x != nil; x = d.byAge.Front() {
		q := x.Value.(openDuty)
		if q.taken+d.slow > now {
			return old, d.byAge.Back().Value.(openDuty).taken + d.slow - now
		}
		d.removeLocked(q.Duty)
		old = append(old, q.Duty)
	}
	return old, 0
}

// Await waits until all are settled, or too old. It returns those that are too old.
func (d *Duties) Await(ctx context.Context, s scheduler.Scheduler) (old []Duty, err error) {
	for {
		d.mu.Lock()
		swept, left := d.sweepLocked(d.clock())
		old = append(old, swept...)
		open, settled := len(d.open), d.settled.Next()
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
