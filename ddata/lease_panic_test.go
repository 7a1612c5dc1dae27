package ddata_test

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// A store of leases that panics costs the calls, as one that fails: the node that is left goes on
// alone when the store answers, and each panic is told with its stack.
func TestLeasesThatPanic(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(2)
		store := lockstest.NewRash("@" + addrs[1])
		told := make(chan events.UserCodePanicked, 1000)
		failing := make(chan string, 1000)
		c := mem.leaseConfig(store, addrs[1], addrs, 2)
		c.OnEvent = func(e events.Event) {
			switch e := e.(type) {
			case events.UserCodePanicked:
				told <- e
			case events.ArbiterFailing:
				failing <- e.Reason
			}
		}
		meter := eventstest.NewMeter("coterie_")
		c.Meter = meter
		nodes := startAll(t, mem.leaseConfig(store, addrs[0], addrs, 2), c)
		store.Panic("Acquire", 2)
		store.Panic("Load", 1)
		store.Panic("Save", 1)
		mustClose(t, nodes[0])
		until(t, nodes[1], "alone", func(v *view.View) bool { return len(v.Members) == 1 })
		if e := <-told; !strings.HasPrefix(e.In, "Lock.") || !strings.HasPrefix(e.Panic, "rash ") || e.SoFar != 1 ||
			!strings.Contains(e.Stack, "rash.go") {
			t.Errorf("%+v", e)
		}
		if why := <-failing; !strings.Contains(why, "panicked: rash") {
			t.Error(why)
		}
		if n := meter.Values()["user_panics_total"]; n < 1 { // it may have held the lease before
			t.Errorf("%d panics are counted", n)
		}
		store.Panic("Until", 1)
		store.Panic("Close", 1)
		if err := nodes[1].Leave(testContext(t)); err != nil {
			t.Error(err)
		}
	})
}
