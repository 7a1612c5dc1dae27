package random_test

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// TestStreamsAreApart: each seed, concern and number has a story of its own, the same each time.
func TestStreamsAreApart(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(3) {
		s := random.Streams{Seed: seed}
		for _, concern := range []string{"network", "disk"} {
			for n := range uint64(3) {
				x := s.Stream(concern, n).Uint64()
				if seen[x] {
					t.Errorf("seed %d: %s %d is the story of another", seed, concern, n)
				}
				if seen[x] = true; s.Stream(concern, n).Uint64() != x {
					t.Errorf("seed %d: %s %d changes its story", seed, concern, n)
				}
			}
		}
	}
}

// TestBounds of what is drawn.
func TestBounds(t *testing.T) {
	r := random.Streams{Seed: 1}.Stream("test", 0)
	if x := random.Between(r, 5, 5); x != 5 {
		t.Errorf("%d is drawn of nothing", x)
	}
	hits := map[int]int{}
	for range 1000 {
		if x := random.Between(r, -3, 4); x < -3 || x >= 4 {
			t.Fatalf("%d", x)
		}
		if random.Chance(r, 0) {
			t.Fatal("what has no chance comes up")
		}
		hits[random.Pick(r, 1, 2, 2, 2)]++
	}
	if hits[2] < 2*hits[1] || hits[1] == 0 {
		t.Errorf("%v", hits)
	}
}
