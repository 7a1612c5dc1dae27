package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// balance is a cluster for a strategy: the shards of each region, earliest allocated first.
type balance [][]ShardID

func sizes(ns ...int) balance {
	var b balance
	next := ShardID(0)
	for _, n := range ns {
		var ss []ShardID
		for range n {
			ss = append(ss, next)
			next++
		}
		b = append(b, ss)
	}
	return b
}

func (b balance) allocations() *Allocations {
	var rs []RegionLoad
	for i, ss := range b {
		rs = append(rs, RegionLoad{UID: UID(i + 1), UpNumber: uint32(i + 1), AppVersion: "1.0.0", Count: len(ss)})
	}
	return NewAllocations(rs, true, func(u UID) []ShardID { return b[u-1] })
}

// round moves what the strategy picks, each shard to where it would be allocated.
func (b balance) round(l LeastShard) []ShardID {
	moved := l.Rebalance(b.allocations(), nil)
	for _, s := range moved {
		for i := range b {
			b[i] = slices.DeleteFunc(slices.Clone(b[i]), func(x ShardID) bool { return x == s })
		}
		u, _ := l.Allocate(0, s, b.allocations())
		b[u-1] = append(b[u-1], s)
	}
	return moved
}

func (b balance) String() string {
	var out []string
	for _, ss := range b {
		out = append(out, fmt.Sprint(len(ss)))
	}
	return strings.Join(out, " ")
}

// TestLeastShardRounds holds the algorithm to what follows from its two phases: excess above ceil(n/r) first, then one from each full region
// while others lack two.
func TestLeastShardRounds(t *testing.T) {
	unlimited := LeastShard{AbsoluteLimit: 1000, RelativeLimit: 1}
	for _, tc := range []struct {
		name   string
		l      LeastShard
		start  balance
		rounds string
	}{
		{"a joiner", unlimited, sizes(4, 0), "2 2"},
		{"one too many", unlimited, sizes(3, 1), "2 2"},
		{"balanced", unlimited, sizes(2, 2), ""},
		{"an odd one may stay", unlimited, sizes(2, 1), ""},
		{"two joiners", unlimited, sizes(9, 0, 0), "3 3 3"},
		{"second phase", unlimited, sizes(2, 2, 2, 2, 0), "1 2 2 2 1"}, // optimum 2, one region lacks two
		{"first, then second phase", unlimited, sizes(4, 2, 0, 0), "2 2 1 1"},
		{"absolute limit", LeastShard{AbsoluteLimit: 2, RelativeLimit: 1}, sizes(8, 0), "6 2; 4 4"},
		{"relative limit", LeastShard{AbsoluteLimit: 20, RelativeLimit: 0.25}, sizes(8, 0), "6 2; 4 4"},
		{"at least one", LeastShard{AbsoluteLimit: 20, RelativeLimit: 0.01}, sizes(3, 1, 0), "2 1 1"},
		{"defaults: a tenth", LeastShard{}, sizes(50, 0), "45 5; 40 10; 35 15; 30 20; 25 25"},
		{"defaults: twenty", LeastShard{}, sizes(240, 200), "220 220"},
		{"no shards", unlimited, sizes(0, 0), ""},
		{"alone", unlimited, sizes(5), ""},
	} {
		var got []string
		for range 20 {
			if len(tc.start.round(tc.l)) == 0 {
				break
			}
			got = append(got, tc.start.String())
		}
		if s := strings.Join(got, "; "); s != tc.rounds {
			t.Errorf("%s: rounds %q, want %q", tc.name, s, tc.rounds)
		}
	}
}

func TestLeastShardTakesEarliest(t *testing.T) {
	b := balance{{7, 3, 9, 1}, {2}, {}}
	if got := (LeastShard{AbsoluteLimit: 9, RelativeLimit: 1}).Rebalance(b.allocations(), nil); !slices.Equal(got, []ShardID{7, 3}) {
		t.Errorf("took %v, want the two allocated first, 7 and 3", got)
	}
}

func TestLeastShardWaits(t *testing.T) {
	l := LeastShard{}
	a := sizes(9, 0).allocations()
	if got := l.Rebalance(a, []ShardID{3}); got != nil {
		t.Errorf("moved %v while another move is in progress", got)
	}
	a.Steady = false
	if got := l.Rebalance(a, nil); got != nil {
		t.Errorf("moved %v in an unsteady cluster", got)
	}
}

func TestLeastShardAllocate(t *testing.T) {
	r := func(uid UID, up uint32, version string, count int, leaving bool) RegionLoad {
		return RegionLoad{UID: uid, UpNumber: up, AppVersion: version, Count: count, Leaving: leaving}
	}
	for _, tc := range []struct {
		name    string
		regions []RegionLoad
		want    UID
	}{
		{"nobody", nil, 0},
		{"fewest", []RegionLoad{r(1, 1, "1", 3, false), r(2, 2, "1", 2, false)}, 2},
		{"older", []RegionLoad{r(1, 5, "1", 2, false), r(2, 2, "1", 2, false)}, 2},
		{"newer version before fewer", []RegionLoad{r(1, 1, "1.9.0", 0, false), r(2, 2, "1.10.0", 9, false)}, 2},
		{"leaving never", []RegionLoad{r(1, 1, "2", 0, true), r(2, 2, "1", 9, false)}, 2},
		{"all leaving", []RegionLoad{r(1, 1, "1", 0, true)}, 0},
	} {
		got, ok := LeastShard{}.Allocate(0, 0, NewAllocations(tc.regions, true, nil))
		if got != tc.want || ok != (tc.want != 0) {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, ok, tc.want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	for i, order := 1, []string{"", "1", "1.2", "1.2.1", "1.10", "1.10-rc1", "2.0.0", "10", "x"}; i < len(order); i++ {
		if compareVersions(order[i-1], order[i]) >= 0 || compareVersions(order[i], order[i-1]) <= 0 {
			t.Errorf("%q is not below %q", order[i-1], order[i])
		}
	}
	if compareVersions("1.02", "1.2") != 0 {
		t.Error("leading zeros matter")
	}
}

// TestLeastShardConverges: from any distribution, rounds end with no two regions further apart than one and never exceed the limits.
func TestLeastShardConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := sizes(rapid.SliceOfN(rapid.IntRange(0, 40), 1, 8).Draw(t, "sizes")...)
		l := LeastShard{AbsoluteLimit: rapid.IntRange(1, 30).Draw(t, "abs"), RelativeLimit: rapid.Float64Range(0.01, 1).Draw(t, "rel")}
		total := 0
		for _, ss := range b {
			total += len(ss)
		}
		for round := 0; ; round++ {
			moved := b.round(l)
			if len(moved) == 0 {
				break
			}
			if len(moved) > l.limit(total) || round > 1000 {
				t.Fatalf("round %d moved %d, limit %d: %v", round, len(moved), l.limit(total), b)
			}
		}
		lo, hi := total, 0
		for _, ss := range b {
			lo, hi = min(lo, len(ss)), max(hi, len(ss))
		}
		if hi-lo > 1 {
			t.Fatalf("ended with %v", b)
		}
	})
}
