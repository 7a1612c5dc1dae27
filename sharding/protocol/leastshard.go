package protocol

import (
	"cmp"
	"slices"
	"strings"
)

// LeastShard keeps the numbers of shards per region near each other and moves few at a time. A new shard goes to the region with the fewest
// among those with the newest app version. A round of rebalancing takes what is above the fair share from the regions that have too many;
// when none has, it fills those that are two or more below the others. It waits for the round before, and for a steady cluster. This is
// the two-phase algorithm of Akka 2.6's LeastShardAllocationStrategy with both limits set.
type LeastShard struct {
	AbsoluteLimit int     // shards moved per round at most; default 20
	RelativeLimit float64 // the same as a share of all shards, in (0,1]; default 0.1
}

var _ Strategy = LeastShard{}

// Allocate implements Strategy.
func (l LeastShard) Allocate(_ UID, _ ShardID, a *Allocations) (UID, bool) {
	var best *RegionLoad
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

// before orders regions by how well they suit a new shard.
func (r *RegionLoad) before(o *RegionLoad) bool {
	if c := compareVersions(o.AppVersion, r.AppVersion); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(r.Count, o.Count), cmp.Compare(r.UpNumber, o.UpNumber), cmp.Compare(r.UID, o.UID)) < 0
}

// Rebalance implements Strategy.
func (l LeastShard) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	var rs []RegionLoad
	shards := 0
	for _, r := range a.Regions {
		if !r.Leaving {
			rs = append(rs, r)
			shards += r.Count
		}
	}
	if !a.Steady || len(inProgress) > 0 || len(rs) < 2 || shards == 0 {
		return nil
	}
	optimal := (shards + len(rs) - 1) / len(rs)
	limit := l.limit(shards)
	if excess := takeExcess(a, rs, optimal, limit); len(excess) > 0 {
		return excess
	}
	return takeFirst(a, rs, optimal, limit)
}

func (l LeastShard) limit(shards int) int {
	absolute, relative := cmp.Or(l.AbsoluteLimit, 20), cmp.Or(l.RelativeLimit, 0.1)
	return max(1, min(int(relative*float64(shards)), absolute))
}

// takeExcess is the first phase: what regions have above the optimum.
func takeExcess(a *Allocations, rs []RegionLoad, optimal, limit int) []ShardID {
	var out []ShardID
	for _, r := range rs {
		if n := min(r.Count-optimal, limit-len(out)); n > 0 {
			out = append(out, a.Shards(r.UID)[:n]...)
		}
	}
	return out
}

// takeFirst is the second phase: one from each region that is full while others lack two or more.
func takeFirst(a *Allocations, rs []RegionLoad, optimal, limit int) []ShardID {
	need := 0
	for _, r := range rs {
		need += max(0, optimal-1-r.Count)
	}
	var out []ShardID
	for _, r := range rs {
		if len(out) < min(need, limit) && r.Count >= optimal {
			out = append(out, a.Shards(r.UID)[0])
		}
	}
	return out
}

// compareVersions orders app versions: dot-separated parts, numbers by value and before words.
func compareVersions(x, y string) int {
	if x == y {
		return 0
	}
	cut := func(r rune) bool { return r == '.' || r == '-' || r == '+' }
	return slices.CompareFunc(strings.FieldsFunc(x, cut), strings.FieldsFunc(y, cut), func(p, q string) int {
		np, nq := number(p), number(q)
		if np && nq {
			p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
			return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
		}
		if np != nq {
			if np {
				return -1
			}
			return 1
		}
		return cmp.Compare(p, q)
	})
}

func number(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
