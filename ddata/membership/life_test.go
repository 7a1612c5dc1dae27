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
	if took := w.now - began; took > 500*time.Millisecond {
		t.Errorf("crash to successor took %v, want at most 500 ms", took)
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
