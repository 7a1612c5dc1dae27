package allocation

import (
	"slices"
	"testing"
)

// TestExternal: the location decides. Without a location, or with one where no region is, the
// region that asked gets the shard. If a proxy asked, or no region did, the region with the fewest
// shards gets it.
func TestExternal(t *testing.T) {
	w := lists([]ShardID{0, 1}, []ShardID{2}, nil)
	w.shards = 6
	w.locations = map[ShardID]string{0: "node-3:25520", 1: "gone:1", 2: "node-2:25520", 3: "node-1:25520", 4: "gone:1"}
	e := External{}
	for _, tc := range []struct {
		name      string
		requester UID
		shard     ShardID
		want      UID
	}{
		{"a location", 2, 3, 1},
		{"a location without a region", 2, 4, 2},
		{"no location", 1, 5, 1},
		{"asked by a proxy", 77, 5, 3},
		{"asked by no region", 0, 5, 3},
	} {
		if got, ok := e.Allocate(tc.requester, tc.shard, w.allocations()); got != tc.want || !ok {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	if got := e.Rebalance(w.allocations(), nil); !slices.Equal(got, []ShardID{0}) {
		t.Errorf("moves %v, want 0: it alone is elsewhere than at a location where somebody is", got)
	}
	if got := e.Rebalance(w.allocations(), []ShardID{0}); got != nil {
		t.Errorf("moves %v though it is moving", got)
	}
	w.regions[2].Leaving = true
	if got := e.Rebalance(w.allocations(), nil); got != nil {
		t.Errorf("moves %v to a region that is leaving", got)
	}
	if got, _ := e.Allocate(2, 0, w.allocations()); got != 2 {
		t.Errorf("%v for a location that is leaving, want the requester's", got)
	}
}
