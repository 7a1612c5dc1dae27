package sharding

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

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
