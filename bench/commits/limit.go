package commits

import (
	"context"
	"slices"

	"github.com/coterie-go/coterie/bench/measure"
)

// limit is what the store does without entities, in calls of one size.
type limit struct {
	store           Subject
	name            string // of its figures
	entities        int
	callers, events int // events of each call
	load            measure.Load
}

// limits returns those of a case that differ.
func (s Subject) limits(n int) []*limit {
	batches := (n + rowsMax - 1) / rowsMax
	all := []*limit{s.limit("writers", n, n), s.limit("batched", n, batches)}
	if s.ByShard {
		all = append(all, s.limit("by_shard", n, min(n, Shards)))
	}
	return slices.CompactFunc(all, func(a, b *limit) bool { return a.callers == b.callers })
}

func (s Subject) limit(name string, n, callers int) *limit {
	return &limit{store: s, name: name, entities: n, callers: callers, events: n / callers}
}

func (l *limit) call(ctx context.Context) func(int, int) error {
	events := uint64(l.events)
	return func(int, int) error { return l.store.Raw(ctx, last.Add(events)-events+1, l.events, l.entities) }
}

// report adds the figures, and the ratio of what the entities do.
func (l *limit) report(f *measure.Figures, own measure.Load) {
	perSecond := l.load.PerSecond() * float64(l.events)
	f.Add(l.name+"_events_per_s", int(perSecond))
	f.Add(l.name+"_p50_us", l.load.Percentile(0.5))
	f.Add(l.name+"_p99_us", l.load.Percentile(0.99))
	f.Add(l.name+"_cpu_us_per_event", l.load.CPUMicros()/float64(l.events))
	f.Add("ratio_"+l.name, own.PerSecond()/perSecond)
}
