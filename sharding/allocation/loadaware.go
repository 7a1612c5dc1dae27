package allocation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
)

// LoadAware keeps the loads of regions near each other: of messages, of time spent in handlers and
// of active entities, as the regions report them for each shard. A new shard goes to the region
// with the least load among those with the newest app version. While nothing is known, or next to
// nothing goes on, it goes by the numbers of shards.
//
// A round of rebalancing is due when a region is further from its fair share than Tolerance; rounds
// go on until all are within half of that, and then there is rest. A step takes from the busiest
// region the shard that brings it and the least busy one nearest to each other. A round takes steps
// until its budget is spent or nothing is gained any more. It waits for the round before, and
// leaves a shard where it is for RestAfterMove. A shard that is busier than a fair share is not
// moved around: it is the share of its region, what lives beside it is moved away, and the others
// share the rest.
//
// It does not know how strong nodes are: all count alike.
type LoadAware struct {
	// How much of the load goes by each of its kinds, in proportion to each other. All zero: 1, 2
	// and 1.
	MessageWeight, HandlerTimeWeight, EntityWeight float64
	// Tolerance is how far from its fair share a region may be, as a part of the mean. Default 0.1.
	Tolerance float64
	// RebalanceAbsoluteLimit and RebalanceRelativeLimit bound what a round moves, as in LeastShard.
	// Defaults 20 and 0.1.
	RebalanceAbsoluteLimit int
	RebalanceRelativeLimit float64
	// RestAfterMove is for how long a shard that has moved is left where it is. Default 2 min;
	// negative: not at all.
	RestAfterMove time.Duration
	// LoadHalfLife is after which time a measurement weighs half. Default 30 s.
	LoadHalfLife time.Duration
}

var (
	_ Strategy = LoadAware{}
	_ Needy    = LoadAware{}
)

// Needs implements Needy.
func (l LoadAware) Needs() Needs { return Needs{Loads: true, LoadHalfLife: l.LoadHalfLife} }

func (l LoadAware) ratio() Load {
	r := Load{Messages: l.MessageWeight, HandlerTime: l.HandlerTimeWeight, Entities: l.EntityWeight}
	if r == (Load{}) {
		return Load{Messages: 1, HandlerTime: 2, Entities: 1}
	}
	return r
}

// Allocate implements Strategy.
func (l LoadAware) Allocate(_ UID, _ ShardID, a *Allocations) (UID, bool) {
	if a.weights == nil {
		a.weights = newWeights(a, l.ratio())
	}
	w, best := a.weights, -1
	for i := range a.Regions {
		r := &a.Regions[i]
		if r.Leaving {
			continue
		}
		if best < 0 || w.before(a, i, best) {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	return a.Regions[best].UID, true
}

// before orders regions as Region.before does, but by load where there is any difference.
func (w *weights) before(a *Allocations, i, j int) bool {
	r, o := &a.Regions[i], &a.Regions[j]
	if c := compareVersions(o.AppVersion, r.AppVersion); c != 0 {
		return c < 0
	}
	if d := w.sums[i] - w.sums[j]; !w.counts && math.Abs(d) > nothing {
		return d < 0
	}
	return r.before(o)
}

// nothing is less than any weight that means something: sums of the same weights in another order
// differ by as much.
const nothing = 1e-9

// plan is one round of rebalancing, being made.
type plan struct {
	a       *Allocations
	w       *weights
	regions []planned
	mean    float64 // without the shards that are heavier, and as many regions
	near    float64 // the part of the mean by which a region may be off at the end
	rests   func(ShardID) bool
	out     []ShardID
}

type planned struct {
	uid    UID
	sum    float64
	fair   float64   // what it should have: the mean, or its heaviest shard
	asked  bool      // its shards have been looked at
	shards []weighed // that may move, the heaviest last
	fixed  bool      // nothing can be gained by what it has
}

type weighed struct {
	s ShardID
	w float64
}

// Rebalance implements Strategy.
func (l LoadAware) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	if len(inProgress) > 0 || len(a.Regions) < 2 {
		return nil
	}
	a.weights = newWeights(a, l.ratio())
	p := l.newPlan(a)
	if len(p.regions) < 2 || p.mean == 0 || !p.due(l.tolerance(), a.Moving) {
		return nil
	}
	shards := 0
	for _, r := range a.Regions {
		shards += r.Count
	}
	limit := LeastShard{
		RebalanceAbsoluteLimit: l.RebalanceAbsoluteLimit, RebalanceRelativeLimit: l.RebalanceRelativeLimit,
	}.limit(shards)
	for len(p.out) < limit && p.step() {
	}
	return p.out
}

func (l LoadAware) tolerance() float64 { return cmp.Or(l.Tolerance, 0.1) }

func (l LoadAware) newPlan(a *Allocations) *plan {
	rest := cmp.Or(l.RestAfterMove, 2*time.Minute)
	rests := func(s ShardID) bool {
		at := a.MovedAt(s)
		return !at.IsZero() && a.Now.Sub(at) < rest
	}
	p := &plan{a: a, w: a.weights, near: l.tolerance() / 2, rests: rests}
	total := 0.0
	for i, r := range a.Regions {
		if !r.Leaving {
			p.regions = append(p.regions, planned{uid: r.UID, sum: p.w.sums[i]})
			total += p.w.sums[i]
		}
	}
	p.share(total)
	return p
}

// share finds what each region should have. A region with a shard that is heavier than the mean
// should have nothing else, and the others share the rest.
func (p *plan) share(total float64) {
	regions := len(p.regions)
	var heavy []float64
	for i := range p.regions {
		r := &p.regions[i]
		for _, s := range p.a.ShardsOf(r.uid) {
			w := p.w.of(p.a, s)
			r.fair = max(r.fair, w)
			if w*float64(regions) > total {
				heavy = append(heavy, w)
			}
		}
	}
	slices.Sort(heavy)
	for _, w := range slices.Backward(heavy) {
		if regions > 1 && w*float64(regions) > total {
			total, regions = total-w, regions-1
		}
	}
	p.mean = total / float64(max(1, regions))
	for i := range p.regions {
		p.regions[i].fair = max(p.regions[i].fair, p.mean)
	}
}

// over is what a region has beyond its share.
func (r *planned) over() float64 { return r.sum - r.fair }

// due reports whether a region is too far off: further than the tolerance, or while rounds go on
// than half of it.
func (p *plan) due(tolerance float64, moving bool) bool {
	if moving {
		tolerance = p.near
	}
	return slices.ContainsFunc(p.regions, func(r planned) bool {
		return r.over() > tolerance*p.mean || r.sum < p.mean*(1-tolerance)
	})
}

// step moves one more shard, in the plan; false: no move gains anything any more.
func (p *plan) step() bool {
	for {
		from, to := p.extremes()
		if from < 0 || from == to {
			return false
		}
		f, t := &p.regions[from], &p.regions[to]
		if f.over() <= p.mean*p.near && t.sum >= p.mean*(1-p.near) {
			return false
		}
		i, ok := f.pick(p, f.sum-t.sum)
		if !ok {
			f.fixed = true
			continue
		}
		s := f.shards[i]
		f.shards = slices.Delete(f.shards, i, i+1)
		f.sum -= s.w
		t.sum += s.w
		p.out = append(p.out, s.s)
		return true
	}
}

// extremes are the region furthest beyond its share from which something may be taken, -1 if there
// is none, and the least busy one.
func (p *plan) extremes() (from, to int) {
	from = -1
	for i, r := range p.regions {
		if !r.fixed && (from < 0 || r.over() > p.regions[from].over()) {
			from = i
		}
		if r.sum < p.regions[to].sum {
			to = i
		}
	}
	return from, to
}

// pick finds the shard that brings two regions, so far apart, nearest to each other: the one
// nearest to half of what is between them. What is gained must be worth a hand-off: dust measured
// by what a shard weighs on the average.
func (r *planned) pick(p *plan, gap float64) (int, bool) {
	if !r.asked {
		r.asked = true
		for _, s := range p.a.ShardsOf(r.uid) {
			if !p.rests(s) {
				r.shards = append(r.shards, weighed{s, p.w.of(p.a, s)})
			}
		}
		slices.SortStableFunc(r.shards, func(x, y weighed) int { return cmp.Compare(x.w, y.w) })
	}
	if gap <= p.mean*p.near {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(r.shards, gap/2,
		func(x weighed, half float64) int { return cmp.Compare(x.w, half) })
	best, gain := -1, p.w.unknown*dust
	for _, j := range []int{i - 1, i} {
		if j < 0 || j >= len(r.shards) {
			continue
		}
		if g := min(r.shards[j].w, gap-r.shards[j].w); g > gain {
			best, gain = j, g
		}
	}
	return best, best >= 0
}

// dust is the part of the average weight of a shard that a move must gain at least.
const dust = 0.1

// Validate reports every fault of the settings together.
func (l LoadAware) Validate() error {
	var f config.Faults
	for _, w := range []struct {
		name   string
		weight float64
	}{
		{"MessageWeight", l.MessageWeight}, {"HandlerTimeWeight", l.HandlerTimeWeight},
		{"EntityWeight", l.EntityWeight},
	} {
		f.Add(!(w.weight >= 0) || math.IsInf(w.weight, 0), w.name, "is %v, want 0 or a positive number", w.weight)
	}
	f.Add(l.LoadHalfLife < 0, "LoadHalfLife", "%v is negative", l.LoadHalfLife)
	share(&f, "Tolerance", l.Tolerance)
	share(&f, "RebalanceRelativeLimit", l.RebalanceRelativeLimit)
	atLeast(&f, "RebalanceAbsoluteLimit", l.RebalanceAbsoluteLimit, 0)
	return f.Err("")
}
