package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// with is a node whose configuration names these durable keys.
func with(patterns ...string) func(*Config) {
	return func(c *Config) { c.DurableKeys = patterns }
}

// keys returns what the view of a living node says of durable keys.
func (w *world) keys() (durable, moving []string) {
	v := w.living()[0].m.View()
	return v.Durable, v.Moving
}

func (w *world) wantKeys(durable, moving []string) {
	w.t.Helper()
	if d, m := w.keys(); !slices.Equal(d, durable) || !slices.Equal(m, moving) {
		w.t.Fatalf("durable %q, moving %q, want %q and %q: %v", d, m, durable, moving, w.living()[0].m)
	}
}

// moved reports whether no move runs.
func (w *world) moved() bool { return len(w.living()[0].m.View().Moving) == 0 }

// TestFoundersAgreeOnAllKeys: founders may differ; the cluster has what any of them brings.
func TestFoundersAgreeOnAllKeys(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	for i, a := range addrs(3) {
		w.start(a, with("all", fmt.Sprintf("%d/*", i)))
	}
	w.until(time.Minute, w.converged)
	w.wantKeys([]string{"0/*", "1/*", "2/*", "all"}, nil)
	w.verdict()
}

// TestARollingRestartAddsKeys: the first node that brings a pattern starts a move; it ends when all
// have done their part, and the others change nothing any more.
func TestARollingRestartAddsKeys(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.DurableKeys = []string{"a"}
	ns := w.found(3)
	w.wantKeys([]string{"a"}, nil)
	w.moves = func(*node) bool { return false }
	for i, n := range ns {
		n.crash()
		w.start(n.addr, with("a", "b/*"))
		if !w.until(time.Minute, w.converged) {
			t.Fatal("the node does not come back")
		}
		w.run(2 * time.Second)
		if i == 0 {
			w.wantKeys([]string{"a"}, []string{"b/*"})
		}
		w.moves = func(*node) bool { return true }
	}
	w.run(2 * time.Second)
	w.wantKeys([]string{"a", "b/*"}, nil)
	if v := w.living()[0].m.View(); v.Moves != 1 {
		t.Errorf("%d moves of one pattern", v.Moves)
	}
	n := w.start("x", with()) // a node that names none joins all the same
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("a node without patterns does not join: %v", n.done)
	}
	w.wantKeys([]string{"a", "b/*"}, nil)
	w.verdict()
}

// TestAFoundingAnewKeepsKeys: what was agreed on is agreed on after a stop of all, also when those
// that found the cluster anew have never been configured for it, and in the middle of a move.
func TestAFoundingAnewKeepsKeys(t *testing.T) {
	for _, ended := range []bool{true, false} {
		w := newWorld(t, 1, LAN())
		w.base.DurableKeys = []string{"a"}
		w.moves = func(*node) bool { return ended }
		ns := w.found(3)
		ns[0].crash()
		w.start(ns[0].addr, with("a", "b/*"))
		if !w.until(time.Minute, w.converged) {
			t.Fatal("the node does not come back")
		}
		w.run(5 * time.Second)
		if ended {
			w.wantKeys([]string{"a", "b/*"}, nil)
		} else {
			w.wantKeys([]string{"a"}, []string{"b/*"})
		}
		w.crashAll()
		w.run(time.Minute)
		w.start(ns[1].addr, nil)
		w.start(ns[2].addr, nil)
		if !w.until(time.Minute, w.converged) {
			t.Fatalf("not founded: %v", w.living()[0].m)
		}
		w.wantKeys([]string{"a", "b/*"}, nil)
		if v := w.living()[0].m.View(); v.Moves != 1 {
			t.Errorf("%d moves", v.Moves)
		}
		w.verdict()
	}
}

// TestForgetKeys: a pattern that a tool has taken off all directories is forgotten.
func TestForgetKeys(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.DurableKeys = []string{"a", "b/*"}
	ns := w.found(3)
	w.base.DurableKeys = []string{"a"}
	w.crashAll()
	for addr, kept := range w.disks {
		shorter, found, err := record.ForgetKeys(kept, []string{"b/*", "c"})
		if err != nil || !slices.Equal(found, []string{"b/*"}) {
			t.Fatalf("found %q, %v", found, err)
		}
		w.disks[addr] = shorter
	}
	for _, n := range ns {
		w.start(n.addr, nil)
	}
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("not founded: %v", w.living()[0].m)
	}
	w.wantKeys([]string{"a"}, nil)
	if _, _, err := record.ForgetKeys([]byte("x"), nil); err == nil {
		t.Error("no error for a record that does not decode")
	}
}

// TestOneMoveAtATime: a node that brings other patterns waits while a member has not done its part,
// and comes in when that member is gone.
func TestOneMoveAtATime(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	w.moves = func(n *node) bool { return n != ns[2] }
	first := w.start("x", with("b"))
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("the first does not come in: %v", first.done)
	}
	second := w.start("y", with("c"))
	third := w.start("z", with("b"))
	said := map[Event]int{}
	w.watch = func(_ *node, _ Input, fx *Effects) {
		for _, e := range fx.Events {
			if k, ok := e.(KeysWaiting); ok {
				said[KeysWaiting{Missing: k.Missing}]++
			}
		}
	}
	w.run(20 * time.Second)
	if w := second.waiting; len(w) == 0 || !strings.Contains(w[len(w)-1], "keys of another node") {
		t.Errorf("the second waits for %q", w)
	}
	if slow := fmt.Sprintf("%v@c", ns[2].uid); len(said) != 1 || said[KeysWaiting{Missing: slow}] != 1 {
		t.Errorf("said that the move waits for %v, not once for %s", said, slow)
	}
	if v := ns[0].m.View(); v.Has(second.uid) || !v.Has(third.uid) {
		t.Fatalf("in a move of b: %v", v)
	}
	w.wantKeys(nil, []string{"b"})
	ns[2].crash()
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("the second does not come in: %v", ns[0].m)
	}
	w.run(5 * time.Second)
	w.wantKeys([]string{"b", "c"}, nil)
	if v := ns[0].m.View(); v.Moves != 2 {
		t.Errorf("%d moves", v.Moves)
	}
	w.verdict()
}

// TestTooManyKeysAreRefused: patterns for which a view has no room refuse the node that brings
// them.
func TestTooManyKeysAreRefused(t *testing.T) {
	w := newWorld(t, 1, LAN())
	for i := range view.PatternsMax - 1 {
		w.base.DurableKeys = append(w.base.DurableKeys, fmt.Sprintf("%03d", i))
	}
	w.found(2)
	n := w.start("x", with("one", "two"))
	w.run(20 * time.Second)
	var refused *RefusedError
	if !errors.As(n.done, &refused) || refused.Reason != bootstrap.ReasonRoom ||
		!strings.Contains(n.done.Error(), "257 patterns") {
		t.Fatalf("ended with %v", n.done)
	}
	for _, bad := range [][]string{
		{""}, {"\xff"}, {strings.Repeat("x", view.RoomOfPatterns)}, make([]string, view.PatternsMax+1),
	} {
		for i := range bad {
			if len(bad) > view.PatternsMax {
				bad[i] = fmt.Sprint(i)
			}
		}
		c := Config{UID: 1, Addr: "a", Timing: LAN().Timing, DurableKeys: bad}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "DurableKeys") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	w.verdict()
}

// TestViewsOfMovesAreChecked: what a peer's view says of durable keys is held to its invariants.
func TestViewsOfMovesAreChecked(t *testing.T) {
	w := newWorld(t, 1, LAN())
	good := *w.found(2)[0].m.View()
	for name, spoil := range map[string]func(v *view.View){
		"out of order":     func(v *view.View) { v.Durable = []string{"b", "a"} },
		"durable, moving":  func(v *view.View) { v.Durable, v.Moving, v.Moves = []string{"a"}, []string{"a"}, 1 },
		"without a number": func(v *view.View) { v.Moving = []string{"a"} },
		"empty":            func(v *view.View) { v.Durable = []string{""} },
		"too long":         func(v *view.View) { v.Durable = []string{strings.Repeat("x", view.RoomOfPatterns)} },
	} {
		v := good
		spoil(&v)
		if _, err := message.Decode(message.Append(nil, message.Commit{View: &v})); !errors.Is(err,
			message.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
