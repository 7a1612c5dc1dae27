package replicator

import (
	"fmt"
	"testing"
	"time"
)

// Hazard 1: a process that comes back with its durable rows has seen nothing volatile. If it claimed to (with one clock for both spaces), a repair would
// take what it lacks for removed, and delete it everywhere.
func TestComingBackWithDurableRowsDeletesNothingVolatile(t *testing.T) {
	w := cluster(t, 3, Config{DurableKeys: durableD.DurableKeys, LogMax: 1})
	a := w.nodes[0]
	for i := range 5 {
		a.put("s", fmt.Sprint("volatile", i), All)
		a.put("d/s", fmt.Sprint("durable", i), All)
		w.quiet()
	}
	a.crash()
	back := w.start(9, a.disk, 1)
	w.install(viewOf(2, 2, 3).with(9))
	for range 500 {
		if !back.joined {
			w.advance(10 * time.Millisecond)
		}
	}
	if !back.joined {
		t.Fatalf("it does not catch up\n%s", w.dump())
	}
	w.isolate(9) // what it does now, others learn by repair
	w.install(viewOf(3, 2, 3, 9))
	for i := range 5 {
		back.put("s", fmt.Sprint("later", i), Local)
	}
	w.mendAll()
	w.advance(10 * time.Second)
	for _, n := range w.nodes[1:] {
		n.wantSet("s", "later0", "later1", "later2", "later3", "later4", "volatile0", "volatile1", "volatile2", "volatile3", "volatile4")
		n.wantSet("d/s", "durable0", "durable1", "durable2", "durable3", "durable4")
	}
	w.same()
}
