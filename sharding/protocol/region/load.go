package region

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// allLoads is how often all loads are reported, whether they have changed or not: a report may be
// lost.
const allLoads = 8

// onMeasured reports to the coordinator the loads that have changed.
func (r *Region) onMeasured(in protocol.Measured) {
	period := min(in.Period.Truncate(time.Millisecond), protocol.LoadPeriodMax)
	if !r.known || r.cfg.Proxy || period <= 0 {
		r.countIgnored()
		return
	}
	all := r.measured%allLoads == 0
	r.measured++
	was := r.reported
	r.reported = make(map[protocol.ShardID]protocol.ShardLoad, len(in.Shards))
	var changed []protocol.ShardLoad
	for _, l := range in.Shards {
		old, known := was[l.Shard]
		now := perSecond(l, period)
		if all || !known || differs(now, old) {
			changed = append(changed, l)
			old = now
		}
		r.reported[l.Shard] = old
	}
	for part := range slices.Chunk(changed, protocol.BatchMax) {
		r.send(r.coordinator, protocol.Loads{Period: period, Shards: part})
	}
}

func perSecond(l protocol.ShardLoad, period time.Duration) protocol.ShardLoad {
	l.Messages = uint64(float64(l.Messages) / period.Seconds())
	l.HandlerTime = time.Duration(float64(l.HandlerTime) / period.Seconds())
	return l
}

// differs reports whether a load is so different from what was reported that it matters: by more
// than an eighth, and by more than next to nothing.
func differs(l, o protocol.ShardLoad) bool {
	far := func(x, y, least uint64) bool {
		d := max(x, y) - min(x, y)
		return d > least && d > max(x, y)/8
	}
	return far(l.Messages, o.Messages, 2) || far(uint64(l.HandlerTime), uint64(o.HandlerTime), uint64(time.Millisecond)) ||
		far(uint64(l.Entities), uint64(o.Entities), 2)
}
