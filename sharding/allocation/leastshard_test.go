package allocation

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLeastShardRounds holds the algorithm to what follows from its two phases: excess above
// ceil(n/r) first, then one from each full region while others lack two.
func TestLeastShardRounds(t *testing.T) {
	unlimited := LeastShard{RebalanceAbsoluteLimit: 1000, RebalanceRelativeLimit: 1}
	for _, tc := range []struct {
		name   string
		l      LeastShard
		start  *world
		rounds string
	}{
		{"a joiner", unlimited, sizes(4, 0), "2 2"},
		{"one too many", unlimited, sizes(3, 1), "2 2"},
		{"balanced", unlimited, sizes(2, 2), ""},
		{"an odd one may stay", unlimited, sizes(2, 1), ""},
		{"two joiners", unlimited, sizes(9, 0, 0), "3 3 3"},
		{"second phase", unlimited, sizes(2, 2, 2, 2, 0), "1 2 2 2 1"}, // optimum 2, one region lacks two
		{"first, then second phase", unlimited, sizes(4, 2, 0, 0), "2 2 1 1"},
		{"absolute limit", LeastShard{RebalanceAbsoluteLimit: 2, RebalanceRelativeLimit: 1}, sizes(8, 0), "6 2; 4 4"},
		{"relative limit", LeastShard{RebalanceAbsoluteLimit: 20, RebalanceRelativeLimit: 0.25},
			sizes(8, 0), "6 2; 4 4"},
		{"at least one", LeastShard{RebalanceAbsoluteLimit: 20, RebalanceRelativeLimit: 0.01}, sizes(3, 1, 0), "2 1 1"},
		{"defaults: a tenth", LeastShard{}, sizes(50, 0), "45 5; 40 10; 35 15; 30 20; 25 25"},
		{"defaults: twenty", LeastShard{}, sizes(240, 200), "220 220"},
		{"no shards", unlimited, sizes(0, 0), ""},
		{"alone", unlimited, sizes(5), ""},
	} {
		if s := tc.start.rounds(tc.l); s != tc.rounds {
			t.Errorf("%s: rounds %q, want %q", tc.name, s, tc.rounds)
		}
	}
}

func (w *world) rounds(s Strategy) string {
	var got []string
	for range 20 {
		if len(w.round(s)) == 0 {
			break
		}
		got = append(got, w.String())
	}
	return strings.Join(got, "; ")
}

func TestLeastShardTakesEarliest(t *testing.T) {
	w := lists([]ShardID{7, 3, 9, 1}, []ShardID{2}, nil)
	l := LeastShard{RebalanceAbsoluteLimit: 9, RebalanceRelativeLimit: 1}
	if got := l.Rebalance(w.allocations(), nil); !slices.Equal(got, []ShardID{7, 3}) {
		t.Errorf("took %v, want the two allocated first, 7 and 3", got)
	}
}

func TestLeastShardWaits(t *testing.T) {
	if got := (LeastShard{}).Rebalance(sizes(9, 0).allocations(), []ShardID{3}); got != nil {
		t.Errorf("moved %v while another move is in progress", got)
	}
}

// TestThresholdRounds: each round moves min(diff − threshold, threshold, what may move at one time)
// from the fullest region, by shard id.
func TestThresholdRounds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		s      Threshold
		start  *world
		rounds string
	}{
		{"defaults: one at a time", Threshold{}, sizes(4, 0), "3 1; 2 2"},
		{"a difference of the threshold is let be", Threshold{}, sizes(2, 1), ""},
		{"threshold 2", Threshold{RebalanceThreshold: 2, MaxSimultaneousRebalance: 5}, sizes(7, 1), "5 3"},
		{"what exceeds it, if that is less",
			Threshold{RebalanceThreshold: 5, MaxSimultaneousRebalance: 9}, sizes(8, 2), "7 3"},
		{"so many at one time", Threshold{RebalanceThreshold: 4, MaxSimultaneousRebalance: 1}, sizes(9, 1), "8 2; 7 3"},
		{"alone", Threshold{}, sizes(5), ""},
	} {
		if s := tc.start.rounds(tc.s); s != tc.rounds {
			t.Errorf("%s: rounds %q, want %q", tc.name, s, tc.rounds)
		}
	}
}

func TestThresholdInProgress(t *testing.T) {
	w := lists([]ShardID{7, 3, 9, 1}, []ShardID{2}, nil)
	s := Threshold{RebalanceThreshold: 1, MaxSimultaneousRebalance: 2}
	if got := s.Rebalance(w.allocations(), []ShardID{1}); !slices.Equal(got, []ShardID{3}) {
		t.Errorf("took %v beside shard 1, want 3, the next by id", got)
	}
	if got := s.Rebalance(w.allocations(), []ShardID{1, 5}); got != nil {
		t.Errorf("took %v though two are on the move", got)
	}
}

func TestAllocateOrder(t *testing.T) {
	r := func(uid UID, up uint32, version string, count int, leaving bool) Region {
		return Region{UID: uid, UpNumber: up, AppVersion: version, Count: count, Leaving: leaving}
	}
	for _, tc := range []struct {
		name    string
		regions []Region
		want    UID
	}{
		{"no region", nil, 0},
		{"fewest", []Region{r(1, 1, "1", 3, false), r(2, 2, "1", 2, false)}, 2},
		{"older", []Region{r(1, 5, "1", 2, false), r(2, 2, "1", 2, false)}, 2},
		{"newer version before fewer", []Region{r(1, 1, "1.9.0", 0, false), r(2, 2, "1.10.0", 9, false)}, 2},
		{"leaving never", []Region{r(1, 1, "2", 0, true), r(2, 2, "1", 9, false)}, 2},
		{"all leaving", []Region{r(1, 1, "1", 0, true)}, 0},
	} {
		for _, s := range []Strategy{LeastShard{}, Threshold{}, LoadAware{}, External{}} {
			got, ok := s.Allocate(0, 0, New(slices.Clone(tc.regions), 1, &world{}))
			if got != tc.want || ok != (tc.want != 0) {
				t.Errorf("%T %s: %v, %v, want %v", s, tc.name, got, ok, tc.want)
			}
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

// TestCountsConverge: from any distribution, the rounds of the strategies that go by counts end
// with no two regions further apart than they let be, and never exceed the limits.
func TestCountsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sizes(rapid.SliceOfN(rapid.IntRange(0, 40), 1, 8).Draw(t, "sizes")...)
		l := LeastShard{
			RebalanceAbsoluteLimit: rapid.IntRange(1, 30).Draw(t, "abs"),
			RebalanceRelativeLimit: rapid.Float64Range(0.01, 1).Draw(t, "rel"),
		}
		old := Threshold{
			RebalanceThreshold:       rapid.IntRange(1, 5).Draw(t, "threshold"),
			MaxSimultaneousRebalance: rapid.IntRange(1, 5).Draw(t, "max"),
		}
		s, limit, apart := Strategy(l), l.limit(w.shards), 1.0
		switch rapid.IntRange(0, 2).Draw(t, "strategy") {
		case 1:
			s, limit, apart = old, old.MaxSimultaneousRebalance, float64(old.RebalanceThreshold)
		case 2: // no loads are known
			s = LoadAware{
				RebalanceAbsoluteLimit: l.RebalanceAbsoluteLimit,
				RebalanceRelativeLimit: l.RebalanceRelativeLimit, RestAfterMove: -1,
			}
			apart = max(2, 0.2*float64(w.shards)/float64(len(w.regions))+1)
		}
		for round := 0; ; round++ {
			moved := w.round(s)
			if len(moved) == 0 {
				break
			}
			if len(moved) > limit || round > 1000 {
				t.Fatalf("%T: round %d moved %d, limit %d: %v", s, round, len(moved), limit, w)
			}
		}
		if lo, hi, _ := w.spread(w.count); hi-lo > apart {
			t.Fatalf("%T ended with %v", s, w)
		}
	})
}
