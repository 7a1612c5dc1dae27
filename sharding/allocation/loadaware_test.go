package allocation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func busy(x float64) Load { return Load{Messages: x, HandlerTime: x / 1000, Entities: x / 10} }

// TestLoadAwareEvens: three busy shards on one region, idle ones on the other: one of the busy ones
// goes over, for it alone brings them nearest.
func TestLoadAwareEvens(t *testing.T) {
	w := sizes(3, 3)
	for s := range ShardID(6) {
		w.loads[s] = busy(1)
	}
	w.loads[0], w.loads[1], w.loads[2] = busy(300), busy(200), busy(100)
	if got := (LoadAware{}).Rebalance(w.allocations(), nil); !slices.Equal(got, []ShardID{0}) {
		t.Errorf("moves %v, want 0", got)
	}
	if got := (LoadAware{}).Rebalance(w.allocations(), []ShardID{5}); got != nil {
		t.Errorf("moves %v before the round before has ended", got)
	}
}

// TestLoadAwareOneHot: the shard that is busier than all else stays, and what lives beside it goes.
func TestLoadAwareOneHot(t *testing.T) {
	w := sizes(4, 4)
	for s := range ShardID(8) {
		w.loads[s] = busy(100)
	}
	w.loads[0] = busy(5000)
	moved := w.round(LoadAware{RebalanceRelativeLimit: 1})
	if slices.Contains(moved, 0) || len(moved) != 3 {
		t.Errorf("moved %v, want the three beside the hot one", moved)
	}
	if n, _ := w.settle(LoadAware{RestAfterMove: -1}, 20); n != 0 {
		t.Errorf("%d more moves", n)
	}
}

// TestLoadAwareHysteresis: a round begins beyond the tolerance, goes on until half of it, and a
// region between the two is let be.
func TestLoadAwareHysteresis(t *testing.T) {
	w := sizes(100, 100)
	for s := range ShardID(200) {
		w.loads[s] = busy(100)
		if s >= 100 {
			w.loads[s] = busy(86) // 7.5 % off the mean each
		}
	}
	l := LoadAware{Tolerance: 0.1, RebalanceAbsoluteLimit: 1}
	if got := w.round(l); got != nil {
		t.Errorf("moved %v within the tolerance", got)
	}
	w.moving = true
	if got := w.round(l); len(got) != 1 {
		t.Errorf("moved %v while rounds go on", got)
	}
	w.moving = false
	for s := range ShardID(100) {
		w.loads[s] = busy(120)
	}
	if _, rounds := w.settle(l, 100); rounds < 3 {
		t.Errorf("rest after %d rounds", rounds)
	}
	lo, hi, mean := w.spread(w.sum)
	if hi > 1.06*mean || lo < 0.94*mean { // half of the tolerance, and what counts share
		t.Errorf("rest at %v … %v around %v", lo, hi, mean)
	}
}

func TestLoadAwareRests(t *testing.T) {
	w := sizes(2, 0)
	w.loads[0], w.loads[1] = busy(100), busy(100)
	l := LoadAware{RestAfterMove: time.Minute}
	w.moved[0], w.moved[1] = w.now.Add(-30*time.Second), w.now.Add(-30*time.Second)
	if got := w.round(l); got != nil {
		t.Errorf("moved %v again after half a minute", got)
	}
	w.now = w.now.Add(30 * time.Second)
	if got := w.round(l); len(got) != 1 {
		t.Errorf("moved %v after a minute", got)
	}
}

// TestLoadAwareQuiet: where next to nothing goes on counts decide, however the little is spread.
func TestLoadAwareQuiet(t *testing.T) {
	w := sizes(3, 3)
	w.loads[0] = busy(5)
	for s := range ShardID(6) {
		w.loads[s] = busy(float64(s) / 10)
	}
	if got := w.round(LoadAware{}); got != nil {
		t.Errorf("moved %v for a message now and then", got)
	}
	if w = sizes(6, 0); len(w.round(LoadAware{})) == 0 {
		t.Error("counts do not decide where nothing is known")
	}
}

// TestLoadAwareKinds: each kind of load counts, by its weight.
func TestLoadAwareKinds(t *testing.T) {
	for _, tc := range []struct {
		name string
		l    LoadAware
		load Load
	}{
		{"messages", LoadAware{MessageWeight: 1}, Load{Messages: 1000}},
		{"handler time", LoadAware{HandlerTimeWeight: 1}, Load{HandlerTime: 2}},
		{"entities", LoadAware{EntityWeight: 1}, Load{Entities: 1e6}},
	} {
		w := sizes(2, 2)
		for s := range ShardID(4) {
			w.loads[s] = Load{Messages: 100, HandlerTime: 0.1, Entities: 10}
		}
		w.loads[0] = tc.load
		w.loads[1] = tc.load
		if got := w.round(tc.l); len(got) == 0 {
			t.Errorf("%s: nothing moves", tc.name)
		}
		other := LoadAware{MessageWeight: 1, HandlerTimeWeight: 1, EntityWeight: 1}
		switch tc.name {
		case "messages":
			other.MessageWeight = 0
		case "handler time":
			other.HandlerTimeWeight = 0
		default:
			other.EntityWeight = 0
		}
		w = sizes(2, 2)
		for s := range ShardID(4) {
			w.loads[s] = Load{Messages: 100, HandlerTime: 0.1, Entities: 10}
		}
		l := w.loads[0]
		switch tc.name {
		case "messages":
			l.Messages = 1000
		case "handler time":
			l.HandlerTime = 2
		default:
			l.Entities = 1e6
		}
		w.loads[0], w.loads[1] = l, l
		if got := w.round(other); got != nil {
			t.Errorf("%s without weight: %v moves", tc.name, got)
		}
	}
}

// TestLoadAwareAllocates: a shard without a home goes where the least is going on, and each choice
// counts for the next.
func TestLoadAwareAllocates(t *testing.T) {
	w := sizes(1, 5, 5)
	for s := range ShardID(11) {
		w.loads[s] = busy(10)
	}
	w.loads[0] = busy(1000)
	w.loads[11], w.loads[12], w.loads[13] = busy(40), busy(10), busy(10)
	w.shards = 14
	w.place(LoadAware{}, 11, 12, 13)
	if got := w.String(); got != "1 6 7" {
		t.Errorf("placed as %s, want 1 6 7: the heavy one on the second, the others on the third", got)
	}
}

// TestLoadAwareConverges: from any distribution of any loads rounds come to rest within their
// limits; then the busiest region is within the tolerance of what is possible, and nothing moves
// any more while measurements tremble.
func TestLoadAwareConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := sizes(rapid.SliceOfN(rapid.IntRange(0, 60), 2, 8).Draw(t, "sizes")...)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		skew := rapid.Float64Range(0, 1.2).Draw(t, "skew")
		rank := r.Perm(max(1, w.shards))
		for s := range ShardID(w.shards) {
			w.loads[s] = busy(1000 / math.Pow(float64(rank[s]+1), skew))
		}
		l := LoadAware{
			RebalanceAbsoluteLimit: rapid.IntRange(1, 30).Draw(t, "limit"),
			RebalanceRelativeLimit: 1, RestAfterMove: -1,
		}
		before := map[ShardID]int{}
		for round := 0; ; round++ {
			moved := w.round(l)
			if len(moved) == 0 {
				break
			}
			for _, s := range moved {
				before[s]++
			}
			if len(moved) > l.RebalanceAbsoluteLimit || round > 400 {
				t.Fatalf("round %d moves %d, the limit is %d", round, len(moved), l.RebalanceAbsoluteLimit)
			}
		}
		for s, n := range before {
			if n > 4 {
				t.Errorf("shard %v moved %d times", s, n)
			}
		}
		even := w.evenly(0.04) // well within the tolerance before the trembling, so within it after that
		for s := range ShardID(w.shards) {
			w.loads[s] = busy(w.loads[s].Messages * (0.99 + 0.02*r.Float64()))
		}
		if moved := w.round(l); len(moved) > 0 && even {
			t.Errorf("%v move because measurements tremble", moved)
		}
	})
}

// evenly reports whether no region is off by more than a share of the mean.
func (w *world) evenly(off float64) bool {
	lo, hi, mean := w.spread(w.sum)
	return hi <= mean*(1+off) && lo >= mean*(1-off)
}

func TestMeter(t *testing.T) {
	var m Meter
	at := time.Unix(0, 0)
	if _, ok := m.At(at, time.Second); ok {
		t.Error("something is known of what was never reported")
	}
	m.Report(at, Load{Messages: 100}, time.Second)
	m.Report(at, Load{Messages: 200}, time.Second)
	for _, tc := range []struct {
		after time.Duration
		want  float64
	}{{0, 100}, {time.Second, 150}, {2 * time.Second, 175}, {time.Minute, 200}} {
		if l, ok := m.At(at.Add(tc.after), time.Second); !ok || math.Abs(l.Messages-tc.want) > 0.01 {
			t.Errorf("after %v: %v, want %v", tc.after, l.Messages, tc.want)
		}
	}
}
