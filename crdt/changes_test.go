package crdt

import (
	"fmt"
	"slices"
	"testing"
)

// Keys stand once each, in order of first touch, few or many, and again after Reset.
func TestChangesNameEachKeyOnce(t *testing.T) {
	var ch Changes
	for round := range 3 {
		var want []string
		for i := range 5 * changesScanMax {
			key := fmt.Sprint("k", i*7%30)
			ch.put(&Item{Key: key}, false)
			ch.drop(&Item{Key: key}, false)
			ch.put(&Item{Key: "k0"}, false)
			if !slices.Contains(want, key) {
				want = append(want, key)
			}
		}
		if !slices.Equal(ch.Keys, want) {
			t.Fatalf("round %d: %q, must be %q", round, ch.Keys, want)
		}
		ch.Reset()
		if len(ch.Put)+len(ch.Dropped)+len(ch.Keys)+len(ch.Missing) > 0 {
			t.Fatal("not empty after Reset")
		}
	}
}
