package commits

import (
	"context"

	"github.com/coterie-go/coterie/bench/measure"
)

// limit is what the store does without entities, in calls of one size.
type limit struct {
	store           Subject
	suffix          string // of the names of its figures
	entities        int
	callers, events int // events of each call
	load            measure.Load
}

// limits returns those of a case.
func (s Subject) limits(n int) []*limit {
	best := &limit{store: s, entities: n, callers: (n + rowsMax - 1) / rowsMax}
	if s.ByRow {
		best.callers = n
	}
	best.events = n / best.callers
	all := []*limit{best}
	if callers := min(n, Shards); s.ByShard && callers != best.callers {
		all = append(all, &limit{
			store: s, suffix: "_by_shard", entities: n, callers: callers, events: n / callers,
		})
	}
	return all
}

func (l *limit) call(ctx context.Context) func(int, int) error {
	events := uint64(l.events)
	return func(int, int) error { return l.store.Raw(ctx, last.Add(events)-events+1, l.events, l.entities) }
}

// report adds the figures, and the ratio of what the entities do.
func (l *limit) report(f *measure.Figures, own measure.Load) {
	perSecond := l.load.PerSecond() * float64(l.events)
	f.Add("limit"+l.suffix+"_events_per_s", int(perSecond))
	f.Add("limit"+l.suffix+"_p50_us", l.load.Percentile(0.5))
	f.Add("limit"+l.suffix+"_p99_us", l.load.Percentile(0.99))
	f.Add("limit"+l.suffix+"_cpu_us_per_event", l.load.CPUMicros()/float64(l.events))
	f.Add("ratio"+l.suffix, own.PerSecond()/perSecond)
}
