package persistence_test

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Slices are stored with offsets: the function must never change. And they must be even.
func TestSliceOf(t *testing.T) {
	for id, want := range map[string]int{"": 194, "a": 543, "cart-17": 49} {
		if got := persistence.SliceOf(id); got != want {
			t.Errorf("%q is in slice %d, want %d", id, got, want)
		}
	}
	const each = 100
	counts := make([]int, persistence.SliceCount)
	for i := range each * persistence.SliceCount {
		counts[persistence.SliceOf(fmt.Sprint(i))]++
	}
	for slice, n := range counts {
		if n < each/2 || n > each*2 {
			t.Errorf("slice %d has %d of ids of which each should have %d", slice, n, each)
		}
	}
}
