package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// runBalance simulates 10,000 shards on 100 nodes whose loads follow a Zipf law, under the strategy
// that goes by load and under the one that goes by counts. Time is simulated: a round every ten
// seconds, each with the default budget.
func runBalance(_ context.Context, o options) error {
	for _, skew := range []float64{0.6, 0.9} {
		for _, c := range []struct {
			name string
			s    allocation.Strategy
		}{{"least-shard", allocation.LeastShard{}}, {"load-aware", allocation.LoadAware{}}} {
			b := newBalance(o.size(10_000), 100, skew)
			b.place(c.s, b.all())
			var f measure.Figures
			f.Add("max_to_mean_before", b.worst())
			moved, rounds := b.settle(c.s, 0)
			f.Add("max_to_mean", b.worst())
			f.Add("limit", b.limit()) // no strategy does better: the mean, or the busiest shard
			f.Add("percent_moved", 100*moved)
			f.Add("rounds", rounds)
			moved, _ = b.settle(c.s, 0.2)
			f.Add("percent_moved_by_noise", 100*moved)
			b.shift(0.1)
			f.Add("max_to_mean_shifted", b.worst())
			moved, rounds = b.settle(c.s, 0)
			f.Add("max_to_mean_after", b.worst())
			f.Add("percent_moved_after", 100*moved)
			f.Add("rounds_after", rounds)
			measure.Report("balance", fmt.Sprintf("zipf-%g-%s", skew, c.name), f)
		}
	}
	return nil
}

// balance is a cluster whose shards have loads, without machines.
type balance struct {
	r     *rand.Rand
	now   time.Time
	home  []allocation.UID // by shard
	load  []float64        // messages per second
	seen  []allocation.Meter
	moved []time.Time
	order map[allocation.UID][]allocation.ShardID
	nodes int
	last  bool // the last round moved something
}

var _ allocation.Facts = (*balance)(nil)

func newBalance(shards, nodes int, skew float64) *balance {
	b := &balance{r: rand.New(rand.NewPCG(1, 2)), now: time.Unix(0, 0), home: make([]allocation.UID, shards),
		load: make([]float64, shards),
		seen: make([]allocation.Meter, shards), moved: make([]time.Time, shards),
		order: map[allocation.UID][]allocation.ShardID{}, nodes: nodes}
	for s, rank := range b.r.Perm(shards) {
		b.load[s] = 1000 / math.Pow(float64(rank+1), skew)
	}
	return b
}

// ShardsOf implements allocation.Facts.
func (b *balance) ShardsOf(u allocation.UID) []allocation.ShardID { return slices.Clone(b.order[u]) }

// Load implements allocation.Facts. Nothing is known before the first round.
func (b *balance) Load(s allocation.ShardID) (allocation.Load, bool) {
	return b.seen[s].At(b.now, halfLife)
}

// halfLife is the default's of measurements.
const halfLife = 30 * time.Second

// MovedAt implements allocation.Facts.
func (b *balance) MovedAt(s allocation.ShardID) time.Time { return b.moved[s] }

// Location implements allocation.Facts.
func (b *balance) Location(allocation.ShardID) string { return "" }

func (b *balance) all() []allocation.ShardID {
	ids := make([]allocation.ShardID, len(b.home))
	for i := range ids {
		ids[i] = allocation.ShardID(i)
	}
	return ids
}

func (b *balance) allocations() *allocation.Allocations {
	rs := make([]allocation.Region, b.nodes)
	for i := range rs {
		u := allocation.UID(i + 1)
		rs[i] = allocation.Region{UID: u, UpNumber: uint32(u), Count: len(b.order[u])}
	}
	a := allocation.New(rs, len(b.home), b)
	a.Now, a.Moving = b.now, b.last
	return a
}

func (b *balance) place(s allocation.Strategy, ids []allocation.ShardID) {
	a := b.allocations()
	for _, id := range ids {
		if u, ok := s.Allocate(0, id, a); ok {
			a.Add(u, id)
			b.home[id], b.order[u] = u, append(b.order[u], id)
		}
	}
}

// settle plays rounds until there is rest for five minutes, an hour at most, with measurements that
// are off by up to noise; it returns the share of shards that moved.
func (b *balance) settle(s allocation.Strategy, noise float64) (share float64, rounds int) {
	n, quiet := 0, 0
	for played := 1; quiet < 30 && played <= 360; played++ {
		b.now = b.now.Add(10 * time.Second)
		for s := range b.seen {
			x := b.load[s] * (1 + noise*(2*b.r.Float64()-1))
			b.seen[s].Report(b.now, allocation.Load{Messages: x, HandlerTime: x / 10_000, Entities: x / 10}, halfLife)
		}
		ids := s.Rebalance(b.allocations(), nil)
		for _, id := range ids {
			b.order[b.home[id]] = slices.DeleteFunc(b.order[b.home[id]],
				func(x allocation.ShardID) bool { return x == id })
			b.moved[id] = b.now
		}
		b.place(s, ids)
		n, b.last = n+len(ids), len(ids) > 0
		quiet++
		if b.last {
			quiet, rounds = 0, played
		}
	}
	return float64(n) / float64(len(b.home)), rounds
}

// shift has a share of the shards exchange their loads.
func (b *balance) shift(share float64) {
	ids := b.r.Perm(len(b.load))[:int(share*float64(len(b.load)))]
	for i := range ids[1:] {
		x, y := ids[i], ids[i+1]
		b.load[x], b.load[y] = b.load[y], b.load[x]
	}
}

// worst is the load of the busiest node, in means.
func (b *balance) worst() float64 {
	sums, total := make([]float64, b.nodes+1), 0.0
	for s, u := range b.home {
		sums[u] += b.load[s]
		total += b.load[s]
	}
	return slices.Max(sums) * float64(b.nodes) / total
}

// limit is the least that worst can be.
func (b *balance) limit() float64 {
	total := 0.0
	for _, x := range b.load {
		total += x
	}
	return max(1, slices.Max(b.load)*float64(b.nodes)/total)
}
