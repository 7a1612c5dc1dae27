package ddata_test

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
)

// Nodes over bad wires: rough weather keeps them together; one that is cut off is removed, ends,
// and another is taken in its place.
func TestNodesOverFaultyWires(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		wires := faulty.New(1)
		t.Cleanup(wires.Close) // after the nodes
		wires.SetAll(faulty.Weather{Delay: time.Millisecond, Jitter: 3 * time.Millisecond, BreakEvery: 2000})
		addrs := mem.addrs(3)
		at := func(i int) ddata.Config {
			c := mem.config(addrs[i], addrs, 3)
			c.Network = wires.At(addrs[i], mem.hub.At(addrs[i]))
			return c
		}
		nodes := startAll(t, at(0), at(1), at(2))
		for _, i := range []int{0, 1} {
			wires.CutBoth(addrs[i], addrs[2])
		}
		until(t, nodes[0], "two of three go on", func(v *view.View) bool {
			return len(v.Members) == 2 && !v.Has(nodes[2].UID())
		})
		select {
		case <-nodes[2].Done():
		case <-testContext(t).Done():
			t.Fatal("the node that was cut off goes on")
		}
		if err := nodes[2].Err(); !errors.Is(err, ddata.ErrDowned) {
			t.Errorf("it ended with %v", err)
		}
		wires.HealAll()
		again := startAll(t, at(2))[0]
		until(t, nodes[0], "three again", func(v *view.View) bool {
			return len(v.Members) == 3 && v.Has(again.UID())
		})
	})
}
