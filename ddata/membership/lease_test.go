package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// trace is a running hash of what happened.
type trace struct{ h *xxh3.Hasher }

func newTrace() trace { return trace{xxh3.New()} }

func (t trace) add(format string, args ...any) { fmt.Fprintf(t.h, format, args...) }

func (t trace) sum() string { return fmt.Sprintf("%x", t.h.Sum64()) }

// TestLeaseCountsFromSending (§C.4): when the answers stop, it lasts until L after the last
// heartbeat that a quorum answered was sent.
func TestLeaseCountsFromSending(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	n := ns[0]
	var sent time.Duration
	w.watch = func(x *node, _ Input, fx *Effects) {
		for _, e := range fx.Send {
			if _, ok := e.Msg.(message.Heartbeat); ok && x == n {
				sent = w.now
			}
		}
	}
	w.run(5*time.Second + 300*time.Millisecond)
	last := sent
	w.cut = func(a, b *node) bool { return a == n || b == n }
	for i := range 20 {
		w.run(time.Second / 2)
		want := w.now < last+w.base.LeaseDuration
		if got := n.m.Lease().Holds(n.local()); got != want {
			t.Errorf("step %d, %v after the last heartbeat: holds %t", i, w.now-last, got)
		}
	}
}

// TestViewChangesDoNotPause is V6: members keep their leases through joins and leaves without a
// gap, and are granted in the new epoch long before the next heartbeat is due.
func TestViewChangesDoNotPause(t *testing.T) {
	w := newWorld(t, 2, LAN())
	ns := w.found(3)
	stay := ns[:2]
	var slowest time.Duration
	since := make(map[*node]time.Duration)
	w.watch = func(n *node, _ Input, fx *Effects) {
		if len(fx.Install) > 0 {
			since[n] = w.now
		}
		if at, ok := since[n]; ok && n.m.member.leasing.holder.Votes().Holds(n.local()) {
			slowest = max(slowest, w.now-at)
			delete(since, n)
		}
		for _, s := range stay {
			if !s.m.Lease().Holds(s.local()) {
				t.Fatalf("%v has no lease at %v: %v", s, w.now, s.m)
			}
		}
	}
	for _, a := range []string{"d", "e", "f", "g"} {
		w.start(a, nil)
		w.run(700 * time.Millisecond)
	}
	ns[2].step(Leave{})
	w.run(5 * time.Second)
	if !w.converged() || stay[0].m.View().Epoch < 8 {
		t.Error("too few view changes:", stay[0].m)
	}
	t.Logf("granted in a new epoch after at most %v", slowest)
	if slowest > w.base.HeartbeatInterval/10 {
		t.Errorf("granted in a new epoch only after %v", slowest)
	}
	w.verdict()
}

// TestSuspended: the driver saw that the machine slept; the lease is lost until it is renewed.
func TestSuspended(t *testing.T) {
	w := newWorld(t, 3, LAN())
	n := w.found(3)[0]
	n.step(Suspended{})
	if n.m.Lease().Holds(n.local()) {
		t.Error("still holds")
	}
	if said := n.m.fx.Events; !slices.Contains(said, Event(LeaseLost{n.m.member.view.Epoch, LeaseSuspended})) {
		t.Error("said", said)
	}
	w.run(100 * time.Millisecond)
	if !n.m.Lease().Holds(n.local()) {
		t.Error("not renewed at once:", n.m)
	}
}

// TestPausedNodeHasNoLease: a process that was stopped for long finds its lease gone the moment it
// runs again, and is told that it was removed.
func TestPausedNodeHasNoLease(t *testing.T) {
	w := newWorld(t, 4, LAN())
	w.found(3)
	n := w.acting()
	n.pause(time.Minute)
	w.run(time.Minute - time.Millisecond)
	if n.m.Lease().Holds(n.local()) {
		t.Error("the lease outlasted the pause")
	}
	if a := w.acting(); a == nil || a == n {
		t.Error("no node took over")
	}
	w.run(2 * time.Second)
	if !errors.Is(n.done, ErrDowned) || !strings.Contains(n.done.Error(), "decided without") {
		t.Errorf("ended with %v", n.done)
	}
	w.verdict()
}

// TestLearnersHoldNone: a Joining member replicates, but runs nothing.
func TestLearnersHoldNone(t *testing.T) {
	w := newWorld(t, 5, LAN())
	w.found(2)
	w.settle = time.Hour
	n := w.start("c", nil)
	w.run(60 * time.Second)
	if me := n.m.member.me(); !n.alive || me.Status != view.Joining || n.m.Lease().Holds(n.local()) {
		t.Errorf("want a living learner without lease: %v", n.m)
	}
}

// TestLapseIsTold: a node stands still until its lease has ended, and the first thing that it hears
// then is the grant of a heartbeat sent before. Nothing looked while it had none. A caller that ran
// something under the lease is told all the same.
func TestLapseIsTold(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	n, other := ns[0], ns[1].uid
	w.run(5 * time.Second)
	held := n.m.member.leasing.holder.Lease().Until()
	lost, late := n.m.Stats().LeasesLost, held.Add(10*time.Millisecond)
	sent := held.Add(-10 * time.Millisecond)
	fx := n.m.Step(late, Receive{From: other, Msg: message.Grant{
		Cluster: n.m.member.view.Cluster, Epoch: n.m.member.view.Epoch, Mono: int64(sent.Sub(n.m.start)),
		Wall: sent.UnixNano(), Granted: true,
	}})
	var told []string
	for _, e := range fx.Events {
		switch e.(type) {
		case LeaseLost, LeaseRegained:
			told = append(told, fmt.Sprint(e))
		}
	}
	if !n.m.Lease().Holds(late) || len(told) != 2 || !strings.HasPrefix(told[0], "lease lost") ||
		n.m.Stats().LeasesLost != lost+1 {
		t.Errorf("told %q; %d losses counted", told, n.m.Stats().LeasesLost-lost)
	}
}
