package membership

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

func lostLeases(w *world) (lost uint64) {
	for _, n := range w.living() {
		lost += n.m.Stats().LeasesLost
	}
	return lost
}

// TestSlowDisksCostNoLease: disks that take longer for one record than a lease lasts put decisions
// off, and nothing else.
func TestSlowDisksCostNoLease(t *testing.T) {
	w, oldest, second, _ := scripted(t, defect.Set{}, nil)
	slow := 2 * w.base.LeaseDuration
	w.slow = func(*node) time.Duration { return slow }
	w.base.Seeds, w.base.BootstrapExpect = []string{oldest.addr}, 0
	acts := func(d time.Duration, until func() bool) {
		t.Helper()
		for end := w.now + d; !until(); w.run(10 * time.Millisecond) {
			if w.acting() != oldest {
				t.Fatalf("%v after the begin the oldest does not act: %v", w.now, oldest.m)
			}
			if w.now > end {
				t.Fatalf("nothing was decided: %v", oldest.m)
			}
		}
	}
	joiner := w.start("x", nil)
	acts(20*slow, w.converged)
	second.crash()
	acts(20*slow, w.converged)
	joiner.step(Leave{})
	acts(20*slow, func() bool { return !joiner.alive && w.converged() })
	if lost := lostLeases(w); lost != 0 {
		t.Errorf("%d leases were lost", lost)
	}
	w.verdict()
}

// TestOneSlowDiskHoldsUpNobody: the others decide without it, and the node goes on under its lease,
// with the view that it has installed, while its replicators know the one that is stored.
func TestOneSlowDiskHoldsUpNobody(t *testing.T) {
	w, oldest, _, third := scripted(t, defect.Set{}, nil)
	w.slow = func(n *node) time.Duration {
		if n == third {
			return time.Hour
		}
		return time.Millisecond
	}
	told := third.status
	w.base.Seeds, w.base.BootstrapExpect = []string{oldest.addr}, 0
	before := w.checker.heard[third.uid]
	w.watch = func(n *node, _ Input, fx *Effects) {
		if n == third && len(fx.Install) > 0 {
			t.Errorf("its replicators hear of %v, which is not on its disk", fx.Install)
		}
	}
	w.start("x", nil)
	if !w.until(10*time.Second, w.converged) {
		t.Fatalf("one slow disk held up the joiner: %v", oldest.m)
	}
	w.run(10 * w.base.LeaseDuration)
	if !w.converged() || lostLeases(w) != 0 || third.status != told || w.checker.heard[third.uid] != before {
		t.Errorf("%v after %d leases were lost", third.m, lostLeases(w))
	}
	w.verdict()
}

// TestNothingIsSaidBeforeItIsStored: a lock, an acceptance and a view wait for the disk, each for
// its own record.
func TestNothingIsSaidBeforeItIsStored(t *testing.T) {
	w := newWorld(t, 3, LAN())
	w.slow = func(*node) time.Duration { return time.Second }
	writing := make(map[*node]bool)
	w.watch = func(n *node, in Input, fx *Effects) {
		if _, ok := in.(Persisted); ok {
			writing[n] = false
		}
		for _, e := range fx.Send {
			switch e.Msg.(type) {
			case bootstrap.Locked, message.Accepted:
				if writing[n] {
					t.Errorf("%v: %v says %v while its record is being written", w.now, n, e.Msg)
				}
			}
		}
		if writing[n] && len(fx.Install) > 0 {
			t.Errorf("%v: %v tells of %v while its record is being written", w.now, n, fx.Install)
		}
		if fx.Persist != nil {
			if writing[n] {
				t.Errorf("%v: %v has two records written at a time", w.now, n)
			}
			writing[n] = true
		}
	}
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	w.startAll(addrs(3)...)
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("not founded: %v", w.nodes[0].m)
	}
	w.base.BootstrapExpect = 0
	w.startAll("x", "y")
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("not joined: %v", w.nodes[0].m)
	}
	w.verdict()
}

// TestFailedWriteEndsTheNode: at once, without its lease, and nothing that waited for the record is
// said.
func TestFailedWriteEndsTheNode(t *testing.T) {
	full := errors.New("no space left on device")
	w, _, _, third := scripted(t, defect.Set{}, nil)
	w.slow = func(n *node) time.Duration {
		if n == third {
			return time.Hour
		}
		return time.Millisecond
	}
	w.base.BootstrapExpect = 0
	w.start("x", nil)
	if !w.until(10*time.Second, w.converged) {
		t.Fatalf("not joined: %v", third.m)
	}
	fx := third.m.Step(third.local(), Persisted{full})
	if !errors.Is(fx.Done, ErrStore) || !errors.Is(fx.Done, full) {
		t.Errorf("ended with %v", fx.Done)
	}
	if len(fx.Send)+len(fx.Install) > 0 || third.m.Lease().Holds(third.local()) {
		t.Errorf("after a failed write: %v, and %v", fx, third.m.Lease())
	}
	for _, in := range []Input{
		Tick{}, Persisted{}, Receive{From: w.nodes[0].uid, Msg: w.nodes[0].m.member.heartbeat()},
	} {
		if fx := third.m.Step(third.local().Add(time.Minute), in); fx.String() != "" ||
			third.m.Lease().Holds(third.local()) {
			t.Errorf("it goes on after its end: %v: %v", in, fx)
		}
	}
}

// stuck returns a member whose disk does not answer, with one view that waits for it.
func stuck(t *testing.T) *node {
	t.Helper()
	w, _, _, third := scripted(t, defect.Set{}, nil)
	w.slow = func(n *node) time.Duration {
		if n == third {
			return 1000 * time.Hour
		}
		return time.Millisecond
	}
	w.base.BootstrapExpect = 0
	w.start("x", nil)
	if !w.until(10*time.Second, func() bool { return len(third.m.fx.notices.views) > 0 }) {
		t.Fatalf("no view waits: %v", third.m)
	}
	return third
}

// decide has a node hear of a view after its own, with the same members.
func decide(n *node) *Effects {
	v := *n.m.View()
	v.Epoch, v.Parent, v.Founded = v.Epoch+1, n.m.member.view.Digest, false
	return n.m.Step(n.local(), Receive{From: v.Members[0].UID, Msg: message.Commit{View: &v}})
}

// TestViewsWaitForAStuckDisk: as many as there is room for, and all of them are told when the disk
// answers. With one more the node ends, as one whose disk fails.
func TestViewsWaitForAStuckDisk(t *testing.T) {
	n := stuck(t)
	first := n.m.fx.notices.views[0].view.Epoch
	for len(n.m.fx.notices.views) < heldMax {
		if fx := decide(n); fx.Done != nil || len(fx.Install) > 0 {
			t.Fatalf("with %d views: %v", len(n.m.fx.notices.views), fx)
		}
	}
	var told []*view.View
	for range 2 { // the record that is being written, and the last one
		told = append(told, n.m.Step(n.local(), Persisted{}).Install...)
	}
	for i, v := range told {
		if v.Epoch != first+view.Epoch(i) {
			t.Errorf("view %d is %v", i, v)
		}
	}
	if len(told) != heldMax || len(n.m.fx.notices.views) != 0 {
		t.Errorf("told %d views, %d wait", len(told), len(n.m.fx.notices.views))
	}
	for range heldMax {
		if fx := decide(n); fx.Done != nil {
			t.Fatalf("ended with %d views: %v", len(n.m.fx.notices.views), fx.Done)
		}
	}
	fx := decide(n)
	if !errors.Is(fx.Done, ErrStore) || n.m.Lease().Holds(n.local()) || len(n.m.fx.notices.views) != heldMax {
		t.Errorf("ended with %v, %d views wait; %v", fx.Done, len(n.m.fx.notices.views), n.m.Lease())
	}
}

// TestReachabilityWaitsForAStuckDisk: of each member the last word waits, in the order of the last
// words.
func TestReachabilityWaitsForAStuckDisk(t *testing.T) {
	n := stuck(t)
	h := &n.m.fx.notices.views[len(n.m.fx.notices.views)-1]
	h.events = nil
	a, b := n.m.member.view.Members[0], n.m.member.view.Members[1]
	for range 1000 {
		n.m.fx.event(MemberUnreachable{a})
		n.m.fx.event(MemberUnreachable{b})
		n.m.fx.event(MemberReachable{a})
	}
	n.m.fx.event(MemberLeaving{a})
	want := []Event{MemberUnreachable{b}, MemberReachable{a}, MemberLeaving{a}}
	if !reflect.DeepEqual(h.events, want) {
		t.Errorf("%d events wait; %v", len(h.events), h.events[:min(10, len(h.events))])
	}
}

// TestNoRecordWithoutADisk: a node that remembers nothing has nothing written, and waits for
// nothing.
func TestNoRecordWithoutADisk(t *testing.T) {
	w := newWorld(t, 4, LAN())
	w.watch = func(n *node, _ Input, fx *Effects) {
		if fx.Persist != nil {
			t.Errorf("%v has a record written", n)
		}
	}
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	for _, a := range addrs(3) {
		w.start(a, func(c *Config) { c.Disk = 0 })
	}
	if !w.until(time.Minute, w.converged) {
		t.Fatalf("not founded: %v", w.nodes[0].m)
	}
	w.verdict()
}

// unstored: a view that no disk remembers.
//
//  1. the disks of three nodes stand still, and a fourth one asks to join;
//  2. all nodes die;
//  3. the cluster is founded anew from the disks.
//
// What was decided in step 1 has to be on a disk, or the epoch is used twice.
func unstored(t *testing.T, f defect.Set) *world {
	w, _, _, _ := scripted(t, f, nil)
	w.slow = func(*node) time.Duration { return time.Hour }
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 0
	w.start("x", nil)
	w.run(10 * time.Second)
	w.slow = nil
	w.stopAll()
	w.base.BootstrapExpect = 3
	w.startAll(addrs(3)...)
	w.until(time.Minute, w.converged)
	return w
}

// slowDisks draws how long each write takes, apart from what else happens in a random world.
func slowDisks(seed uint64) func(*node) time.Duration {
	rng := rand.New(rand.NewPCG(seed, 11))
	usual := []time.Duration{0, 2 * time.Millisecond, 50 * time.Millisecond}[rng.IntN(3)]
	stalls := []float64{0, 0.02, 0.2}[rng.IntN(3)]
	return func(*node) time.Duration {
		d := time.Duration(rng.Int64N(int64(usual) + 1))
		if rng.Float64() < stalls {
			d += time.Duration(rng.Int64N(int64(8 * time.Second)))
		}
		return d
	}
}
