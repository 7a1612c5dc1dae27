package fifo

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFifoKeepsItsOrderAndItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var want []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				next++
				q.Push(next)
				want = append(want, next)
			},
			"pop": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(t, "n")
				q.Pop(n)
				want = want[n:]
			},
			"unpush": func(*rapid.T) {
				if len(want) > 0 {
					q.Unpush()
					want = want[:len(want)-1]
				}
			},
			"drop": func(t *rapid.T) {
				mod := rapid.IntRange(2, 5).Draw(t, "mod")
				gone := func(x int) bool { return x%mod == 0 }
				q.Drop(gone)
				want = slices.DeleteFunc(slices.Clone(want), gone)
			},
			"": func(t *rapid.T) {
				if !slices.Equal(q.Items(), want) || q.Len() != len(want) {
					t.Fatalf("holds %v, want %v", q.Items(), want)
				}
			},
		})
	})
}

func TestFifoTakesNoMemoryWhenAsMuchGoesAsComes(t *testing.T) {
	var q Queue[int]
	for i := range 100 {
		q.Push(i)
	}
	if n := testing.AllocsPerRun(10_000, func() { q.Push(1); q.Pop(1) }); n > 0 {
		t.Fatalf("%v allocations for each", n)
	}
}
