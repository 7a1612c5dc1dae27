package sharding

import (
	"sync/atomic"
	"time"
)

// work is what a shard has done since it was last measured. It is noted once per turn of a worker,
// not per message.
type work struct {
	messages, nanos atomic.Int64
	whole           bool // it has been here all of that time; the control loop's
}

// measured is handle, with what it costs noted for the shard if it counts its work. The time is
// that of the clock: a handler that waits is busy too.
func (e *entity) measured(r *core, p *pool, worker *worker) (o outcome, stack []byte, failure error) {
	w := e.shard.work
	if w == nil && r.meters == nil {
		return e.handle(r, p, worker)
	}
	n, began := int(e.taken.len), time.Duration(0)
	if w != nil {
		began = r.clock()
	}
	o, stack, failure = e.handle(r, p, worker)
	n -= int(e.taken.len)
	r.meters.handledBy(e.shard.number, n)
	if w != nil {
		took := r.clock() - began
		w.messages.Add(int64(n))
		w.nanos.Add(int64(took))
		r.meters.sliced(took)
	}
	return o, stack, failure
}

// count is how many entities the shard has.
func (s *shard) count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entities.len
}
