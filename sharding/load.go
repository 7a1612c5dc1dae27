package sharding

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
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

// measureFrom begins to measure, twice for each look at the balance, if the strategy looks at
// loads.
func (c *control) measureFrom(now time.Time) {
	if c.cfg.RebalanceInterval < 0 || !allocation.NeedsOf(c.cfg.Strategy).Loads {
		return
	}
	c.measureEvery = max(time.Millisecond, c.cfg.RebalanceInterval/2)
	if c.cfg.RebalanceInterval == 0 {
		c.measureEvery = 5 * time.Second
	}
	c.r.measures, c.measuredAt, c.measureAt = true, now, now.Add(c.measureEvery)
}

// measure tells the Region what the hosted shards have done. One that came meanwhile is told of the
// next time, when a whole period is known.
func (c *control) measure(now time.Time) {
	in := protocol.Measured{Period: now.Sub(c.measuredAt)}
	c.measuredAt, c.measureAt = now, now.Add(c.measureEvery)
	for number, h := range c.shards { // order: sorted below
		w := h.s.work
		n, t, whole := w.messages.Swap(0), w.nanos.Swap(0), w.whole
		w.whole = true
		if whole {
			in.Shards = append(in.Shards, protocol.ShardLoad{
				Shard: protocol.ShardID(number), Messages: uint64(n), HandlerTime: time.Duration(t), Entities: uint32(h.s.count()),
			})
		}
	}
	slices.SortFunc(in.Shards, func(a, b protocol.ShardLoad) int { return int(a.Shard) - int(b.Shard) })
	c.toRegion(in)
}

// count is how many entities the shard has.
func (s *shard) count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entities.len
}
