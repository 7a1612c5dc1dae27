package allocation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// world is a cluster for a strategy: the shards of each region, earliest allocated first, and what
// is known of them.
type world struct {
	now       time.Time
	shards    int
	regions   []Region // by UID; Count is filled in
	of        map[UID][]ShardID
	loads     map[ShardID]Load
	moved     map[ShardID]time.Time
	locations map[ShardID]string
	moving    bool
}

var _ Facts = (*world)(nil)

func (w *world) ShardsOf(u UID) []ShardID { return slices.Clone(w.of[u]) }
func (w *world) Load(s ShardID) (Load, bool) {
	l, ok := w.loads[s]
	return l, ok
}
func (w *world) MovedAt(s ShardID) time.Time { return w.moved[s] }
func (w *world) Location(s ShardID) string   { return w.locations[s] }

// sizes makes regions 1, 2, … with so many shards each.
func sizes(ns ...int) *world {
	w := &world{now: time.Unix(1000, 0), of: map[UID][]ShardID{}, loads: map[ShardID]Load{},
		moved:     map[ShardID]time.Time{},
		locations: map[ShardID]string{}}
	for i, n := range ns {
		w.join(UID(i + 1))
		for range n {
			w.of[UID(i+1)] = append(w.of[UID(i+1)], ShardID(w.shards))
			w.shards++
		}
	}
	return w
}

// lists makes regions with these shards.
func lists(all ...[]ShardID) *world {
	w := sizes(make([]int, len(all))...)
	for i, ss := range all {
		w.of[UID(i+1)] = ss
		for _, s := range ss {
			w.shards = max(w.shards, int(s)+1)
		}
	}
	return w
}

func (w *world) join(u UID) {
	w.regions = append(w.regions, Region{
		UID: u, UpNumber: uint32(u), Addr: fmt.Sprintf("node-%d:25520", u), AppVersion: "1.0.0",
	})
}

// remove takes a region out; its shards have no home then.
func (w *world) remove(u UID) []ShardID {
	w.regions = slices.DeleteFunc(w.regions, func(r Region) bool { return r.UID == u })
	ss := w.of[u]
	delete(w.of, u)
	return ss
}

func (w *world) allocations() *Allocations {
	rs := slices.Clone(w.regions)
	for i := range rs {
		rs[i].Count = len(w.of[rs[i].UID])
	}
	a := New(rs, w.shards, w)
	a.Now, a.Moving = w.now, w.moving
	return a
}

// round moves what the strategy picks, each shard to where it would be allocated, and lets ten
// seconds pass.
func (w *world) round(s Strategy) []ShardID {
	moved := s.Rebalance(w.allocations(), nil)
	for _, id := range moved {
		for u := range w.of {
			w.of[u] = slices.DeleteFunc(slices.Clone(w.of[u]), func(x ShardID) bool { return x == id })
		}
		w.moved[id] = w.now
	}
	w.place(s, moved...)
	w.moving = len(moved) > 0
	w.now = w.now.Add(10 * time.Second)
	return moved
}

// place allocates shards, as the coordinator does: in one batch.
func (w *world) place(s Strategy, ids ...ShardID) {
	a := w.allocations()
	for _, id := range ids {
		if u, ok := s.Allocate(0, id, a); ok {
			a.Add(u, id)
			w.of[u] = append(w.of[u], id)
		}
	}
}

// settle plays rounds until nothing moves, at most so many; it returns how many shards moved, and
// how many rounds that took.
func (w *world) settle(s Strategy, most int) (moved, rounds int) {
	for rounds < most {
		n := len(w.round(s))
		if n == 0 {
			break
		}
		moved += n
		rounds++
	}
	return moved, rounds
}

func (w *world) sum(u UID) float64 {
	x := 0.0
	for _, s := range w.of[u] {
		x += w.loads[s].Messages
	}
	return x
}

// spread are the least and the greatest of what the regions carry, and the mean.
func (w *world) spread(of func(UID) float64) (lo, hi, mean float64) {
	for i, r := range w.regions {
		x := of(r.UID)
		if i == 0 {
			lo = x
		}
		lo, hi, mean = min(lo, x), max(hi, x), mean+x/float64(len(w.regions))
	}
	return lo, hi, mean
}

func (w *world) count(u UID) float64 { return float64(len(w.of[u])) }

func (w *world) String() string {
	var out []string
	for _, r := range w.regions {
		out = append(out, fmt.Sprint(len(w.of[r.UID])))
	}
	return strings.Join(out, " ")
}
