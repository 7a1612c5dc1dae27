package sharding

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// duties are the questions that handlers of this region have left open by Context.Later. A node
// that leaves waits for their answers.
//
// A user may forget a question that it has taken, so one that is older than EntityType.AskTimeout
// does not count: its asker has most likely gone.
type duties struct {
	patience time.Duration // AskTimeout

	mu      sync.Mutex
	open    map[duty]time.Duration // when it was taken, on the region's clock
	sweepAt int                    // so many are too many to be all open in truth
	settled chan struct{}          // closed with the next one that is settled; nil: no one waits
}

// duty names a question: its number and the node of its asker.
type duty struct{ call, origin uint64 }

// dutiesFew is how many open questions are not looked at for old ones.
const dutiesFew = 64

func (d *duties) take(q duty, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open, d.sweepAt = map[duty]time.Duration{}, dutiesFew
	}
	if len(d.open) >= d.sweepAt {
		d.sweepLocked(now)
		d.sweepAt = max(dutiesFew, 2*len(d.open))
	}
	d.open[q] = now
}

// settle ends a duty: the question was answered.
func (d *duties) settle(q duty) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, q)
	if d.settled != nil {
		close(d.settled)
		d.settled = nil
	}
}

// sweepLocked forgets what is too old, and returns it, and how long the youngest of the others has.
func (d *duties) sweepLocked(now time.Duration) (old []duty, left time.Duration) {
	for q, taken := range d.open { // order: each is answered on its own
		rest := taken + d.patience - now
		if rest <= 0 {
			delete(d.open, q)
			old = append(old, q)
		}
		left = max(left, rest)
	}
	return old, left
}

// await waits until all are settled, or too old. It returns those that are too old.
func (d *duties) await(ctx context.Context, clock func() time.Duration) (old []duty, err error) {
	for {
		d.mu.Lock()
		swept, left := d.sweepLocked(clock())
		old = append(old, swept...)
		open, settled := len(d.open), d.settled
		if settled == nil {
			settled = make(chan struct{})
			d.settled = settled
		}
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
			return old, fmt.Errorf("%d questions that handlers have taken by Context.Later are not answered: %w",
				open, context.Cause(ctx))
		}
		t.Stop()
	}
}
