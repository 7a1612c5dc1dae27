package ring

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRingKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring[int]
		var want []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					next++
					r.Push(next)
					want = append(want, next)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(0, len(want)).Draw(t, "n") {
					if got := *r.At(0); got != want[0] {
						t.Fatalf("%d is at the front, want %d", got, want[0])
					}
					r.Pop()
					want = want[1:]
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(want) {
					t.Fatalf("holds %d, want %d", r.Len(), len(want))
				}
				for i, v := range want {
					if *r.At(i) != v {
						t.Fatalf("holds %d at %d, want %d", *r.At(i), i, v)
					}
				}
			},
		})
	})
}

func TestRingTakesNoMemoryWhenAsMuchGoesAsComes(t *testing.T) {
	var r Ring[int]
	for i := range 100 {
		r.Push(i)
	}
	if n := testing.AllocsPerRun(10_000, func() { r.Pop(); r.Push(0) }); n > 0 {
		t.Fatalf("%v allocations for each", n)
	}
}

func TestRingGivesBackTheRoomOfABurst(t *testing.T) {
	var r Ring[int]
	for i := range 10_000 {
		r.Push(i)
	}
	for r.Len() > 10 {
		r.Pop()
	}
	if len(r.buf) > 128 {
		t.Fatalf("room for %d, holds %d", len(r.buf), r.Len())
	}
}
