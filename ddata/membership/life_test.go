package membership

import (
	"testing"
	"time"
)

func local(t testing.TB, seed uint64) *world {
	w := newWorld(t, seed, Local())
	if testing.Verbose() {
		w.log = func(format string, args ...any) { t.Logf("%v "+format, append([]any{w.now}, args...)...) }
	}
	return w
}

func TestFoundJoinCrashLeave(t *testing.T) {
	w := local(t, 1)
	ns := w.found(3)
	t.Logf("founded after %v", w.now)

	ns = append(ns, w.start("d", nil))
	began := w.now
	if !w.until(time.Second, w.converged) {
		t.Fatal("no join", ns[3].m)
	}
	t.Logf("joined after %v", w.now-began)

	victim := w.acting()
	victim.crash()
	began = w.now
	if !w.until(time.Second, w.converged) {
		t.Fatal("no removal", w.living()[0].m)
	}
	t.Logf("crash decided and taken over after %v", w.now-began)
	if took := w.now - began; took > 1300*time.Millisecond {
		t.Errorf("crash to successor took %v, want at most 1.3 s", took)
	}

	leaver := w.acting()
	began = w.now
	leaver.step(Leave{})
	if !w.until(time.Second, func() bool { return leaver.done == ErrLeft && w.converged() }) {
		t.Fatal("no leave", leaver.m, leaver.done)
	}
	t.Logf("left after %v", w.now-began)
	w.verdict()
}

// TestAllStopAtOnce: all nodes of a cluster leave within milliseconds, while the view that lists
// them as Leaving is under way. The word of one that it stopped, and its farewell, belong to an
// epoch that others have left behind. No node waits for it until its time is up.
func TestAllStopAtOnce(t *testing.T) {
	for _, k := range []int{2, 3, 5} {
		for seed := range uint64(40) {
			w := newWorld(t, 1000+seed, LAN())
			w.found(k)
			w.run(2 * time.Second)
			for _, n := range w.living() {
				w.after(time.Duration(w.rng.Int64N(int64(15*time.Millisecond))), func() {
					n.step(Leave{})
					n.step(Stopped{})
				})
			}
			if !w.until(2*w.base.HeartbeatInterval, func() bool { return len(w.living()) == 0 }) {
				t.Fatalf("%d nodes, seed %d: %v is still here", k, seed, w.living()[0].m)
			}
		}
	}
}
