package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Hazard 1: a process that comes back with its durable rows has seen nothing volatile. If it
// claimed to (with one clock for both spaces), a repair would take what it lacks for removed, and
// delete it everywhere. It makes so much while it is cut off that the others must repair from it.
func TestComingBackWithDurableRowsDeletesNothingVolatile(t *testing.T) {
	w := cluster(t, 3, settings.Config{DurableKeys: durableD.DurableKeys, LogMax: 1, FrameMax: 512, PushWindow: 512})
	a := w.nodes[0]
	var old []string
	for i := range 5 {
		old = append(old, fmt.Sprint("volatile", i))
		a.put("s", old[i], quorum.All)
		a.put("d/s", fmt.Sprint("durable", i), quorum.All)
		w.quiet()
	}
	a.crash()
	back := w.start(9, a.disk, 1)
	// which would raise the alarm of R5, and mend it
	w.drop = func(p packet) bool { _, gossip := p.msg.(*wire.Holdings); return gossip }
	w.install(with(viewOf(2, 2, 3), 9))
	for range 500 {
		if !back.joined {
			w.advance(10 * time.Millisecond)
		}
	}
	if !back.joined {
		t.Fatalf("it does not catch up\n%s", w.dump())
	}
	back.wantSet("s", old...)
	w.isolate(9)
	w.install(viewOf(3, 2, 3, 9))
	for i := range 60 {
		back.put("later", fmt.Sprintf("%040d", i), quorum.Local)
	}
	w.mendAll()
	w.drop = func(packet) bool { return false }
	w.advance(10 * time.Second)
	for _, n := range w.nodes[1:] {
		n.wantSet("s", old...)
	}
	w.same()
}
