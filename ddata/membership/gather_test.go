package membership

import (
	"fmt"
	"testing"
	"time"
)

// TestThoseWhoStartTogetherComeInTogether: one decision lets in all that have been heard by then, and one makes Up all that have caught up; nobody waits for
// its next probe. Each view costs a message between any two.
func TestThoseWhoStartTogetherComeInTogether(t *testing.T) {
	const n = 30
	w := newWorld(t, 31, LAN())
	w.base.Seeds = addrs(3)
	start := func(i int, expect int) func() {
		return func() { w.start(fmt.Sprintf("%c", 'a'+i), func(c *Config) { c.BootstrapExpect = expect }) }
	}
	for i := range 3 {
		w.after(time.Duration(i)*100*time.Millisecond, start(i, 3))
	}
	for i := 3; i < n; i++ {
		w.after(time.Duration(w.rng.Int64N(int64(1900*time.Millisecond))), start(i, 0)) // before the founders may found
	}
	if !w.until(10*time.Second, func() bool { return len(w.living()) == n && w.living()[0].m.View() != nil }) {
		t.Fatal("not founded")
	}
	founded := w.now
	all := func() bool {
		v := w.living()[0].m.View()
		return w.converged() && len(v.Members) == n && len(v.Voters()) == n
	}
	if !w.until(10*time.Second, all) {
		t.Fatal("not all Up:", w.living()[0].m)
	}
	took, epoch := w.now-founded, w.living()[0].m.View().Epoch
	t.Logf("all Up %v after the founding, in epoch %v", took, epoch)
	if took > w.base.HeartbeatInterval || epoch > 5 {
		t.Errorf("it took %v and %v views", took, epoch)
	}
	w.verdict()
}

// TestLateOneIsNotWaitedFor: a learner that does not catch up holds nobody back.
func TestLateOneIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, 32, LAN())
	w.found(3)
	w.settle = time.Hour
	w.start("d", nil)
	w.run(3 * time.Second)
	w.settle = 10 * time.Millisecond
	e := w.start("e", nil)
	if !w.until(2*w.base.HeartbeatInterval, func() bool { return e.m.Self().Status == Up }) {
		t.Error("not Up:", e.m)
	}
	w.verdict()
}
