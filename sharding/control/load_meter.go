package control

import (
	"iter"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// loadMeter measures what the hosted shards do, if the strategy looks at loads.
type loadMeter struct {
	every time.Duration // 0: never
	at    time.Time     // of the next look; zero: there is none
	last  time.Time     // the time of the last look
}

// newLoadMeter begins to measure, twice for each look at the balance.
func newLoadMeter(cfg protocol.Config, now time.Time) loadMeter {
	if cfg.Rebalance.Interval < 0 || !allocation.NeedsOf(cfg.Allocation.Strategy).Loads {
		return loadMeter{}
	}
	every := max(time.Millisecond, cfg.Rebalance.Interval/2)
	return loadMeter{every: every, last: now, at: now.Add(every)}
}

// measure returns what the shards have done since the last look. One that came meanwhile is told of
// the next time, when a whole period is known.
func (m *loadMeter) measure(now time.Time, shards iter.Seq[*entities.Shard]) protocol.Measured {
	in := protocol.Measured{Period: now.Sub(m.last)}
	m.last, m.at = now, now.Add(m.every)
	for s := range shards {
		w := s.Work
		n, t, whole := w.Messages.Swap(0), w.Nanos.Swap(0), w.Whole
		w.Whole = true
		if whole {
			in.Shards = append(in.Shards, protocol.ShardLoad{
				Shard: protocol.ShardID(s.Number), Messages: uint64(n), HandlerTime: time.Duration(t),
				Entities: uint32(s.Count()),
			})
		}
	}
	slices.SortFunc(in.Shards, func(a, b protocol.ShardLoad) int { return int(a.Shard) - int(b.Shard) })
	return in
}
