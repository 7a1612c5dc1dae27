package membership

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// crashAll ends all nodes at once.
func (w *world) crashAll() {
	for _, n := range w.living() {
		n.crash()
	}
}

// TestEraLastsAsLongAsTheDirectories: all views of a cluster carry the time of its first founding,
// also after a cold start. When all directories are lost the epochs begin again, and the tokens are
// above the earlier ones all the same.
func TestEraLastsAsLongAsTheDirectories(t *testing.T) {
	w := newWorld(t, 71, LAN())
	w.found(3)
	l := w.playLone(time.Second, false)
	last := func() singleton.FencingToken {
		t.Helper()
		if !w.until(20*time.Second, func() bool { return l.running() != nil }) {
			t.Fatal("nothing runs")
		}
		return l.parts[l.running()].token
	}
	first := last()
	if first.Era == 0 {
		t.Fatal("a token without an era:", first)
	}
	w.start("d", nil)
	if !w.until(time.Minute, w.converged) {
		t.Fatal("d does not join")
	}
	if v := w.living()[0].m.View(); v.Era != first.Era {
		t.Errorf("after a join: era %d, was %d", v.Era, first.Era)
	}

	w.crashAll()
	w.run(time.Minute)
	w.startAll(addrs(4)...)
	if !w.until(time.Minute, w.converged) {
		t.Fatal("not founded anew from the directories")
	}
	kept := last()
	if kept.Era != first.Era || !first.Less(kept) {
		t.Errorf("founded anew from the directories: token %v after %v", kept, first)
	}

	w.crashAll()
	w.run(time.Minute)
	clear(w.disks)
	w.startAll(addrs(3)...)
	if !w.until(time.Minute, w.converged) {
		t.Fatal("not founded without directories")
	}
	lost := last()
	if lost.Epoch >= kept.Epoch {
		t.Errorf("the epochs go on at %v without directories", lost.Epoch)
	}
	if !kept.Less(lost) {
		t.Errorf("founded without directories: token %v after %v", lost, kept)
	}
	w.verdict()
}
