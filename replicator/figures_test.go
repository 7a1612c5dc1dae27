package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Figures count what is held, and how far a peer is behind that cannot be reached.
func TestFigures(t *testing.T) {
	w := cluster(t, 3, durableD)
	a := w.nodes[0]
	put := func(n int) {
		for i := range n {
			a.put(fmt.Sprint("s", i%5), fmt.Sprint(i), quorum.Local)
			a.put("d/s", fmt.Sprint(i), quorum.Local)
		}
		w.advance(5 * time.Second)
	}
	put(20)
	f := a.m.Figures()
	v, d := f.Spaces[keyspace.Volatile], f.Spaces[keyspace.Durable]
	if !f.CaughtUp || f.Pending != 0 || f.Settled == 0 || v.Keys != 5 || v.Items != 20 || d.Keys != 1 ||
		d.Items != 20 || v.Bytes == 0 || v.Bytes != d.Bytes ||
		v.Origins != 1 || v.Events != 20 || len(v.Peers) != 2 || v.Peers[0].Behind+v.Peers[1].Behind != 0 {
		t.Errorf("%+v", f)
	}
	w.isolate(3)
	for i := range 7 {
		a.put("s1", fmt.Sprint("more", i), quorum.Local)
	}
	w.advance(5 * time.Second)
	v = a.m.Figures().Spaces[keyspace.Volatile]
	for _, p := range v.Peers {
		if want := map[bool]uint64{true: 7}[p.Peer == 3]; p.Behind != want {
			t.Errorf("%v is behind by %d, want %d", p.Peer, p.Behind, want)
		}
	}
	if v.LogEvents != 7 {
		t.Errorf("%d events are kept for it", v.LogEvents)
	}
}
