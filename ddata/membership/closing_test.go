package membership

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
)

// TestAllCloseWaitsForTheLayers: a member whose disk has not stored the view that is Closing may
// still hand over what it runs, so the node that was asked does not count on it.
func TestAllCloseWaitsForTheLayers(t *testing.T) {
	w, _, second, third := scripted(t, defect.Set{}, nil)
	wait := 20 * w.base.LeaseDuration
	w.slow = func(n *node) time.Duration {
		if n == third {
			return wait
		}
		return time.Millisecond
	}
	second.step(CloseCluster{})
	if !w.until(wait/2, func() bool { return second.m.View().Closing && third.m.View().Closing }) {
		t.Fatalf("nothing was decided: %v", second.m)
	}
	w.run(wait / 4)
	if second.m.AllClose() {
		t.Error("it counts on a member that has not stored the view")
	}
	if !w.until(2*wait, second.m.AllClose) {
		t.Errorf("it does not learn that all know: %v", second.m)
	}
	w.verdict()
}

// TestAllCloseAmongManyMembers: two members without votes exchange no heartbeats, and find it out.
func TestAllCloseAmongManyMembers(t *testing.T) {
	cfg := LAN()
	cfg.VotersMax = 3
	w := newWorld(t, 7, cfg)
	w.found(6)
	var asked *node
	for _, n := range w.nodes {
		if !n.m.member.view.IsVoter(n.uid) {
			asked = n
		}
	}
	asked.step(CloseCluster{})
	if !w.until(10*w.base.LeaseDuration, asked.m.AllClose) {
		t.Errorf("it does not learn that all know: %v", asked.m)
	}
	for _, n := range w.nodes {
		if !n.m.View().Closing {
			t.Errorf("a member does not know: %v", n.m)
		}
	}
	w.verdict()
}
