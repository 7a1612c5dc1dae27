package subscription

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

// Each subscription hears once of a key that has changed, in the order of keys, then of ids. What
// came and went within a step is no change.
func TestRegistryTellsEachOnce(t *testing.T) {
	var g Subscriptions
	g.Add(3, "b")
	g.Add(1, "b")
	g.AddPrefix(2, "")
	g.Add(4, "x")
	g.Add(4, "y") // in place of x
	one, two := crdt.Digest{1}, crdt.Digest{2}
	for _, key := range []string{"b", "a", "x"} {
		if !g.Begin(key) {
			t.Errorf("nothing follows %q", key)
		}
	}
	g.Came("b", one)
	g.Went("b", two)
	g.Came("x", one)
	g.Went("x", one)
	for _, key := range []string{"b", "a", "x"} {
		g.End(key)
	}
	var told []string
	tell := func(id uint64, key string) { told = append(told, fmt.Sprint(key, id)) }
	g.Take(tell)
	if fmt.Sprint(told) != "[a2 b1 b3 b2]" {
		t.Errorf("told %v", told)
	}
	told = nil
	if g.Take(tell); len(told) > 0 {
		t.Errorf("told %v again", told)
	}
	for id := uint64(1); id <= 4; id++ {
		g.Remove(id)
	}
	if g.Any() || g.Begin("b") {
		t.Error("a subscription is left")
	}
}
