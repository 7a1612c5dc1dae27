package sharding

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/runloop"
)

// duties are the questions that handlers of this region have left open by Context.Responder. A node
// that leaves waits for their answers.
//
// A user may forget a question that it has taken, so one that is older than EntityType.AskTimeout
// is not waited for: its asker has most likely gone. It is kept all the same, because an asker with
// more time must hear that no answer comes. When there are dutiesMax of them the oldest makes room,
// if it is that old, and its asker is told so.
type duties struct {
	slowAfter time.Duration // AskTimeout

	mu      sync.Mutex
	open    map[duty]*list.Element // of byAge
	byAge   list.List              // of openDuty, the oldest first
	settled runloop.Progress       // questions were answered
}

// duty names a question: its number and the node of its asker.
type duty struct{ call, origin uint64 }

// openDuty is a question that was not answered.
type openDuty struct {
	duty
	taken time.Duration // on the region's clock
}

// dutiesMax is how many questions a region keeps open.
const dutiesMax = 1 << 16

// take notes a question, unless there are too many young ones. forgotten is one that has made room.
func (d *duties) take(q duty, now time.Duration) (forgotten duty, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[duty]*list.Element{}
	}
	if len(d.open) == dutiesMax {
		oldest := d.byAge.Front().Value.(openDuty)
		if oldest.taken+d.slowAfter > now {
			return duty{}, false
		}
		forgotten = oldest.duty
		d.removeLocked(forgotten)
	}
	d.removeLocked(q)
	d.open[q] = d.byAge.PushBack(openDuty{q, now})
	return forgotten, true
}

// settle ends a duty: the question was answered.
func (d *duties) settle(q duty) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeLocked(q)
	d.settled.Made()
}

func (d *duties) removeLocked(q duty) {
	if x := d.open[q]; x != nil {
		d.byAge.Remove(x)
		delete(d.open, q)
	}
}

// sweepLocked removes what is too old, and returns it, and how long the youngest of the others has.
func (d *duties) sweepLocked(now time.Duration) (old []duty, left time.Duration) {
	for x := d.byAge.Front(); x != nil; x = d.byAge.Front() {
		q := x.Value.(openDuty)
		if q.taken+d.slowAfter > now {
			return old, d.byAge.Back().Value.(openDuty).taken + d.slowAfter - now
		}
		d.removeLocked(q.duty)
		old = append(old, q.duty)
	}
	return old, 0
}

// await waits until all are settled, or too old. It returns those that are too old.
func (d *duties) await(ctx context.Context, clock func() time.Duration) (old []duty, err error) {
	for {
		d.mu.Lock()
		swept, left := d.sweepLocked(clock())
		old = append(old, swept...)
		open, settled := len(d.open), d.settled.Next()
		d.mu.Unlock()
		if open == 0 {
			return old, nil
		}
		t := time.NewTimer(left)
		select {
		case <-settled:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return old, fmt.Errorf("%d questions that handlers have taken by Context.Responder are not answered: %w",
				open, context.Cause(ctx))
		}
		t.Stop()
	}
}

// owe notes that a handler has taken a question and will answer it. It returns false if there is no
// room for one more.
func (b *outbox) owe(q duty) bool {
	forgotten, ok := b.duties.take(q, b.clock())
	if forgotten != (duty{}) {
		b.drops.drop(DropUnanswered, -1, "", nil)
		b.replyError(envelope{call: forgotten.call, origin: forgotten.origin}, codec.StatusFull,
			fmt.Sprintf("a handler has taken the question by Context.Responder and not answered it, and %d came after it", dutiesMax-1))
	}
	return ok
}
