package ddata_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
)

// A Config.OnEvent that panics costs the node nothing: it founds a
// cluster, writes, and ends in order.
func TestSightPanics(t *testing.T) {
	var calls atomic.Int64
	nodes := ddatatest.StartWith(t, 2, func(i int, c *ddata.Config) {
		c.Roles = []string{"backend"}
		c.OnEvent = func(events.Event) { calls.Add(1); panic("sight") }
	})
	key := ddata.NewKey[crdt.GCounter]("n")
	r, err := nodes[0].Replicator("backend")
	if err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(t.Context(), r, key, ddata.WriteAll,
		func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
		t.Error(err)
	}
	for _, n := range nodes {
		if err := n.Leave(within(t, 10*time.Second)); err != nil {
			t.Error(err)
		}
	}
	if calls.Load() == 0 {
		t.Error("no callback was called")
	}
}
