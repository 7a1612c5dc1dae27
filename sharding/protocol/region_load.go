package protocol

import (
	"slices"
	"time"
)

// allLoads is how often all loads are reported, whether they have changed or not: a report may be
// lost.
const allLoads = 8

// onMeasured reports to the coordinator the loads that have changed.
func (r *Region) onMeasured(in Measured) {
	period := min(in.Period.Truncate(time.Millisecond), loadPeriodMax)
	if !r.known || r.cfg.Proxy || period <= 0 {
		r.countIgnored()
		return
	}
	all := r.measured%allLoads == 0
	r.measured++
	was := r.reported
	r.reported = make(map[ShardID]ShardLoad, len(in.Shards))
	var changed []ShardLoad
	for _, l := range in.Shards {
		old, known := was[l.Shard]
		now := l.perSecond(period)
		if all || !known || now.differs(old) {
			changed = append(changed, l)
			old = now
		}
		r.reported[l.Shard] = old
	}
	for part := range slices.Chunk(changed, batchMax) {
		r.send(r.coordinator, Loads{Period: period, Shards: part})
	}
}

func (l ShardLoad) perSecond(period time.Duration) ShardLoad {
	l.Messages = uint64(float64(l.Messages) / period.Seconds())
	l.HandlerTime = time.Duration(float64(l.HandlerTime) / period.Seconds())
	return l
}

// differs says whether a load is so different from what was reported that it matters: by more than
// an eighth, and by more than next to nothing.
func (l ShardLoad) differs(o ShardLoad) bool {
	far := func(x, y, least uint64) bool {
		d := max(x, y) - min(x, y)
		return d > least && d > max(x, y)/8
	}
	return far(l.Messages, o.Messages, 2) || far(uint64(l.HandlerTime), uint64(o.HandlerTime), uint64(time.Millisecond)) ||
		far(uint64(l.Entities), uint64(o.Entities), 2)
}
