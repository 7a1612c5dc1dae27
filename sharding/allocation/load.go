package allocation

import (
	"math"
	"time"
)

// Load is how busy a shard is.
type Load struct {
	Messages    float64 // handled per second
	HandlerTime float64 // seconds spent in handlers per second
	Entities    float64 // that are active
}

// Meter follows the load of one shard. What was reported longer ago weighs less, by half for every
// half-life; until something else is reported, the latest report is taken to go on.
type Meter struct {
	last, mean Load
	at         time.Time // of last; zero: nothing was reported
}

// Report takes a measurement.
func (m *Meter) Report(now time.Time, l Load, halfLife time.Duration) {
	mean, known := m.At(now, halfLife)
	if !known {
		mean = l
	}
	m.last, m.mean, m.at = l, mean, now
}

// At is the load as far as it is known; false: nothing was reported.
func (m *Meter) At(now time.Time, halfLife time.Duration) (Load, bool) {
	if m.at.IsZero() {
		return Load{}, false
	}
	old := math.Exp2(-max(0, now.Sub(m.at).Seconds()) / halfLife.Seconds())
	mix := func(last, mean float64) float64 { return last + (mean-last)*old }
	return Load{
		Messages: mix(m.last.Messages, m.mean.Messages), HandlerTime: mix(m.last.HandlerTime, m.mean.HandlerTime),
		Entities: mix(m.last.Entities, m.mean.Entities),
	}, true
}

// weights are the loads of shards as one number each. All shards that are hosted weigh 1 together.
type weights struct {
	per     Load    // what a unit of each weighs
	base    float64 // what every shard weighs beside
	unknown float64 // what a shard weighs of which nothing is known
	counts  bool    // too little is known or going on: all shards weigh the same
	sums    []float64
}

const (
	// countShare is the part of the weight that all shards share alike, so that shards without load
	// are spread too.
	countShare = 0.05
	// quietMessages and quietTime are the load of all shards together below which it says nothing
	// about where shards should be.
	quietMessages, quietTime = 10, 0.1
)

func (w *weights) of(a *Allocations, s ShardID) float64 {
	if w.counts {
		return w.unknown
	}
	l, ok := a.Load(s)
	if !ok {
		return w.unknown
	}
	return w.base + w.per.Messages*l.Messages + w.per.HandlerTime*l.HandlerTime + w.per.Entities*l.Entities
}

// newWeights adds up what is known of the shards of all regions.
func newWeights(a *Allocations, ratio Load) *weights {
	w := &weights{sums: make([]float64, len(a.Regions))}
	var total Load
	all, known := 0, 0
	for _, r := range a.Regions {
		for _, s := range a.ShardsOf(r.UID) {
			all++
			if l, ok := a.Load(s); ok {
				known++
				total.Messages += l.Messages
				total.HandlerTime += l.HandlerTime
				total.Entities += l.Entities
			}
		}
	}
	w.unknown = 1 / float64(max(1, all))
	w.counts = known == 0 || total.Messages < quietMessages && total.HandlerTime < quietTime
	if !w.counts {
		w.base = countShare * w.unknown
		w.per = unit(total, ratio, (1-countShare)*float64(known)/float64(all))
	}
	for i, r := range a.Regions {
		for _, s := range a.ShardsOf(r.UID) {
			w.sums[i] += w.of(a, s)
		}
	}
	return w
}

// unit is what a unit of each kind weighs, so that the total weighs as much as it should. A kind of
// which there is nothing does not count.
func unit(total, ratio Load, should float64) Load {
	if total.Messages == 0 {
		ratio.Messages = 0
	}
	if total.HandlerTime == 0 {
		ratio.HandlerTime = 0
	}
	if total.Entities == 0 {
		ratio.Entities = 0
	}
	part := should / (ratio.Messages + ratio.HandlerTime + ratio.Entities)
	per := func(ratio, total float64) float64 {
		if ratio == 0 {
			return 0
		}
		return ratio * part / total
	}
	return Load{
		Messages: per(ratio.Messages, total.Messages), HandlerTime: per(ratio.HandlerTime, total.HandlerTime),
		Entities: per(ratio.Entities, total.Entities),
	}
}
