package ddata_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// Whole nodes run in testing/synctest bubbles, any number of bubbles in one process: nothing that
// they leave behind belongs to the process, and nothing of them outlives Close.
func TestNodesInBubbles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty a pool, and hide what it passes on
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { bubble.Test(t, nodesInABubble) })
	}
}

func nodesInABubble(t *testing.T) {
	hub := memory.NewHub()
	var addrs []string
	for i := range 3 {
		addrs = append(addrs, memory.Addr(i))
	}
	configs := make([]ddata.Config, len(addrs))
	for i, addr := range addrs {
		configs[i] = config(addr, addrs, len(addrs))
		configs[i].Network = hub.At(addr)
	}
	nodes := startAll(t, configs...)
	for i, n := range nodes {
		mustAdd(t, n, "x", fmt.Sprint(i))
		if _, err := ddata.Get(testContext(t), replica(t, n), names, ddata.ReadMajority); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		mustClose(t, n)
	}
}
