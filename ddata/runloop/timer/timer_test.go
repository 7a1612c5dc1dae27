package timer

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		first, most time.Duration
		want        []time.Duration
	}{
		{1, 8, []time.Duration{1, 2, 4, 8, 8}},
		{3, 10, []time.Duration{3, 6, 10, 10}},
		{5, 3, []time.Duration{3, 3}},
		{4, 4, []time.Duration{4, 4}},
		{math.MaxInt64/2 - 1, math.MaxInt64, []time.Duration{math.MaxInt64/2 - 1, math.MaxInt64 - 3, math.MaxInt64}},
	} {
		var got []time.Duration
		for tries := range c.want {
			got = append(got, Backoff(c.first, c.most, tries))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %v, want %v", c.first, c.most, got, c.want)
		}
	}
	if got := Backoff[uint32](1, 1<<10, math.MaxInt); got != 1<<10 {
		t.Error(got)
	}
}

func TestJitter(t *testing.T) {
	for drawn, want := range map[time.Duration]time.Duration{0: 5, 5: 10} {
		got := Jitter(10, func(n time.Duration) time.Duration {
			if n != 6 {
				t.Errorf("draws of %v, want 6", n)
			}
			return drawn
		})
		if got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := Jitter(0, func(time.Duration) time.Duration { return 0 }); got != 0 {
		t.Error(got)
	}
}

func TestTimes(t *testing.T) {
	never, one, two := time.Time{}, time.Unix(1, 0), time.Unix(2, 0)
	var n Next
	for _, c := range []struct{ at, want time.Time }{{never, never}, {two, two}, {never, two}, {one, one}, {two, one}} {
		if n.DueAt(c.at); !n.Due.Equal(c.want) {
			t.Errorf("due at %v, want %v", n.Due, c.want)
		}
	}
	if Latest(one, two) != two || Latest(two, never) != two {
		t.Error("the later one is not the latest")
	}
	at := two
	if Due(&at, one) || at != two || !Due(&at, two) || !at.IsZero() || Due(&at, two) {
		t.Error("a time comes once, and not too early")
	}
}

// A Queue has the latest time of each, and forgets the former ones.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var q Queue[int]
	want := map[int]time.Time{}
	for range 20_000 {
		k := r.IntN(100)
		switch at := time.Unix(1+r.Int64N(1000), 0); {
		case r.IntN(10) > 0:
			q.Set(k, at)
			want[k] = at
		case r.IntN(2) == 0:
			q.Set(k, time.Time{})
			delete(want, k)
		default:
			got, ok := q.Take(at)
			first := Earliest(slices.Collect(maps.Values(want))...)
			if ok != Due(&first, at) || ok && !want[got].Equal(Earliest(slices.Collect(maps.Values(want))...)) {
				t.Fatalf("took %d %t at %v", got, ok, at)
			}
			if ok {
				delete(want, got)
			}
		}
		if got := q.Next(); !got.Equal(Earliest(slices.Collect(maps.Values(want))...)) {
			t.Fatalf("next %v", got)
		}
		if n := len(q.heap); n > 2*len(want)+keep+2 {
			t.Fatalf("%d entries for %d", n, len(want))
		}
	}
}
