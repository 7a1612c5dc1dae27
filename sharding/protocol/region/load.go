package region

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// allLoads is how often all loads are reported, whether they have changed or not: a report may be
// lost.
const allLoads = 8

// loads is what the coordinator was last told of the loads of shards.
type loads struct {
	reported map[protocol.ShardID]protocol.ShardLoad // per second
	measured int                                     // how often loads were reported to it
}

// changed takes what was measured, and returns what the coordinator must be told.
func (lo *loads) changed(shards []protocol.ShardLoad, period time.Duration) (changed []protocol.ShardLoad) {
	all := lo.measured%allLoads == 0
	lo.measured++
	was := lo.reported
	lo.reported = make(map[protocol.ShardID]protocol.ShardLoad, len(shards))
	for _, l := range shards {
		old, known := was[l.Shard]
		now := perSecond(l, period)
		if all || !known || differs(now, old) {
			changed = append(changed, l)
			old = now
		}
		lo.reported[l.Shard] = old
	}
	return changed
}

// onMeasured reports to the coordinator the loads that have changed.
func (r *Region) onMeasured(in protocol.Measured) {
	period := min(in.Period.Truncate(time.Millisecond), protocol.LoadPeriodMax)
	if !r.registration.known || r.cfg.Proxy || period <= 0 {
		r.countIgnored()
		return
	}
	for part := range slices.Chunk(r.loads.changed(in.Shards, period), protocol.BatchMax) {
		r.send(r.registration.coordinator, protocol.Loads{Period: period, Shards: part})
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
	return far(l.Messages, o.Messages, 2) ||
		far(uint64(l.HandlerTime), uint64(o.HandlerTime), uint64(time.Millisecond)) ||
		far(uint64(l.Entities), uint64(o.Entities), 2)
}
