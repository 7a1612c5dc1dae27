package allocation

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func every(shards int) []ShardID {
	ids := make([]ShardID, shards)
	for i := range ids {
		ids[i] = ShardID(i)
	}
	return ids
}

// hashed is a cluster whose shards are all where the ring wants them.
func hashed(c ConsistentHashing, regions, shards int) *world {
	w := sizes(make([]int, regions)...)
	w.shards = shards
	w.place(c, every(shards)...)
	return w
}

// TestHashingStable: homes depend on the addresses of the regions only, so types live together, and
// a node that comes back under another uid and with another age has its shards again.
func TestHashingStable(t *testing.T) {
	c := ConsistentHashing{}
	one, other := hashed(c, 5, 1000), sizes(0, 0, 0, 0, 0)
	other.shards = 1000
	ids := every(1000)
	slices.Reverse(ids)
	other.place(c, ids[:500]...)
	other.place(c, ids[500:]...)
	for u := range UID(5) {
		slices.Sort(other.of[u+1])
		if !slices.Equal(one.of[u+1], other.of[u+1]) {
			t.Fatalf("region %d has other shards when they are asked for in another order", u+1)
		}
	}
	had := one.remove(3)
	one.place(c, had...)
	one.regions = append(one.regions, Region{UID: 99, UpNumber: 99, Addr: "node-3:25520"})
	one.settle(c, 100)
	slices.Sort(one.of[99])
	if !slices.Equal(one.of[99], had) {
		t.Errorf("the node that came back has %d shards, it had %d", len(one.of[99]), len(had))
	}
}

// TestHashingBound: no region has more than its bound, whatever the ring looks like, and all shards
// have a home.
func TestHashingBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		regions, shards := rapid.IntRange(1, 20).Draw(t, "regions"), rapid.IntRange(1, 500).Draw(t, "shards")
		c := ConsistentHashing{
			VirtualNodes: rapid.IntRange(1, 30).Draw(t, "virtual"),
			LoadBound:    rapid.SampledFrom([]float64{1, 1.05, 1.25, 2, math.Inf(1)}).Draw(t, "bound"),
		}
		w := hashed(c, regions, shards)
		most, all := math.Ceil(c.LoadBound*float64(shards)/float64(regions)), 0
		for u := range w.of {
			all += len(w.of[u])
			if w.count(u) > most {
				t.Fatalf("region %d has %d shards, bound %v: %v", u, len(w.of[u]), most, w)
			}
		}
		if all != shards {
			t.Fatalf("%d of %d shards have a home", all, shards)
		}
		if moved := w.round(c); len(moved) > 0 {
			t.Fatalf("%v move though nothing has changed", moved)
		}
	})
}

// TestHashingMovesFew: when one of twenty regions goes, hardly more than its own shards move, and a
// round moves no more than the limit.
func TestHashingMovesFew(t *testing.T) {
	c := ConsistentHashing{RebalanceLimit: 7}
	w := hashed(c, 20, 2000)
	had := w.remove(8)
	w.place(c, had...)
	others := 0
	for {
		moved := w.round(c)
		if len(moved) == 0 {
			break
		}
		if len(moved) > 7 {
			t.Fatalf("a round moved %d", len(moved))
		}
		others += len(moved)
	}
	t.Logf("%d shards of the one that went, %d others moved", len(had), others)
	if others > 2*len(had) {
		t.Errorf("%d others moved", others)
	}
	if got := c.Rebalance(w.allocations(), []ShardID{1, 2, 3, 4, 5, 6, 7}); got != nil {
		t.Errorf("%v beside seven that move already", got)
	}
}

func TestHashingLeaving(t *testing.T) {
	w := hashed(ConsistentHashing{}, 3, 60)
	w.regions[0].Leaving = true
	for s := range ShardID(60) {
		if u, ok := (ConsistentHashing{}).Allocate(0, s, w.allocations()); !ok || u == 1 {
			t.Fatalf("shard %d: %v, %v", s, u, ok)
		}
	}
	w.regions[1].Leaving, w.regions[2].Leaving = true, true
	if u, ok := (ConsistentHashing{}).Allocate(0, 1, w.allocations()); ok {
		t.Errorf("%v although all are leaving", u)
	}
	if got := (ConsistentHashing{}).Rebalance(w.allocations(), nil); got != nil {
		t.Errorf("moves %v although all are leaving", got)
	}
}

func BenchmarkHashing(b *testing.B) {
	w := sizes(make([]int, 100)...)
	w.shards = 100_000
	for b.Loop() {
		(ConsistentHashing{VirtualNodes: 100, LoadBound: 1}).Allocate(0, 1, w.allocations())
	}
}
