package allocation

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/ddata/config"
)

// LeastShard keeps the numbers of shards per region near each other and moves few at a time. A new
// shard goes to the region with the fewest among those with the newest app version. A round of
// rebalancing takes what is above the fair share from the regions that have too many; when none
// has, it fills those that are two or more below the others. It waits for the round before. This is
// the two-phase algorithm of Akka 2.6's LeastShardAllocationStrategy with both limits set.
type LeastShard struct {
	RebalanceAbsoluteLimit int     // shards moved per round at most; default 20
	RebalanceRelativeLimit float64 // the same as a share of all shards, in (0,1]; default 0.1
}

var _ Strategy = LeastShard{}

// Allocate implements Strategy.
func (l LeastShard) Allocate(_ UID, _ ShardID, a *Allocations) (UID, bool) {
	var best *Region
	for i := range a.Regions {
		r := &a.Regions[i]
		if !r.Leaving && (best == nil || r.before(best)) {
			best = r
		}
	}
	if best == nil {
		return 0, false
	}
	return best.UID, true
}

// Rebalance implements Strategy.
func (l LeastShard) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	rs := a.staying()
	shards := 0
	for _, r := range rs {
		shards += r.Count
	}
	if len(inProgress) > 0 || len(rs) < 2 || shards == 0 {
		return nil
	}
	optimal := (shards + len(rs) - 1) / len(rs)
	limit := l.limit(shards)
	if excess := takeExcess(a, rs, optimal, limit); len(excess) > 0 {
		return excess
	}
	return takeFirst(a, rs, optimal, limit)
}

// limit is how many shards a round may move.
func (l LeastShard) limit(shards int) int {
	absolute, relative := cmp.Or(l.RebalanceAbsoluteLimit, 20), cmp.Or(l.RebalanceRelativeLimit, 0.1)
	return max(1, min(int(relative*float64(shards)), absolute))
}

// Validate reports every fault of the settings together.
func (l LeastShard) Validate() error {
	var f config.Faults
	atLeast(&f, "RebalanceAbsoluteLimit", l.RebalanceAbsoluteLimit, 0)
	share(&f, "RebalanceRelativeLimit", l.RebalanceRelativeLimit)
	return f.Err("")
}

// takeExcess is the first phase: what regions have above the optimum.
func takeExcess(a *Allocations, rs []Region, optimal, limit int) []ShardID {
	var out []ShardID
	for _, r := range rs {
		if n := min(r.Count-optimal, limit-len(out)); n > 0 {
			out = append(out, a.ShardsOf(r.UID)[:n]...)
		}
	}
	return out
}

// takeFirst is the second phase: one from each region that is full while others lack two or more.
func takeFirst(a *Allocations, rs []Region, optimal, limit int) []ShardID {
	need := 0
	for _, r := range rs {
		need += max(0, optimal-1-r.Count)
	}
	var out []ShardID
	for _, r := range rs {
		if len(out) < min(need, limit) && r.Count >= optimal {
			out = append(out, a.ShardsOf(r.UID)[0])
		}
	}
	return out
}

// Threshold is the older least-shard algorithm of Akka: each round takes from the region with the
// most shards, when it has more than RebalanceThreshold more than the one with the fewest, and does
// not wait for the round before. It moves few shards at a time and knows two regions only;
// LeastShard comes to rest sooner.
type Threshold struct {
	RebalanceThreshold       int // the difference that is let be; default 1
	MaxSimultaneousRebalance int // shards on the move at one time; default 3
}

var _ Strategy = Threshold{}

// Allocate implements Strategy.
func (t Threshold) Allocate(requester UID, s ShardID, a *Allocations) (UID, bool) {
	return LeastShard{}.Allocate(requester, s, a)
}

// Rebalance implements Strategy.
func (t Threshold) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	threshold, room := cmp.Or(t.RebalanceThreshold, 1), cmp.Or(t.MaxSimultaneousRebalance, 3)-len(inProgress)
	rs := a.staying()
	if room <= 0 || len(rs) < 2 {
		return nil
	}
	moving := map[ShardID]bool{}
	for _, s := range inProgress {
		moving[s] = true
	}
	var most []ShardID
	least := -1
	for _, r := range rs {
		ss := slices.DeleteFunc(a.ShardsOf(r.UID), func(s ShardID) bool { return moving[s] })
		if len(ss) > len(most) {
			most = ss
		}
		if least < 0 || r.Count < least { // what is on its way there has its place already
			least = r.Count
		}
	}
	diff := len(most) - least
	if diff <= threshold {
		return nil
	}
	slices.Sort(most)
	return most[:min(diff-threshold, threshold, room)]
}

// Validate reports every fault of the settings together.
func (t Threshold) Validate() error {
	var f config.Faults
	atLeast(&f, "RebalanceThreshold", t.RebalanceThreshold, 0)
	atLeast(&f, "MaxSimultaneousRebalance", t.MaxSimultaneousRebalance, 0)
	return f.Err("")
}

// atLeast and share check one setting; 0 stands for the default.
func atLeast(f *config.Faults, name string, n, least int) {
	f.Add(n < least, name, "%d is below %d", n, least)
}

func share(f *config.Faults, name string, x float64) {
	f.Add(!(x >= 0 && x <= 1), name, "is %v, want above 0 and at most 1", x)
}
