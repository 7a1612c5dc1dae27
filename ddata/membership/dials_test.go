package membership

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// redialAfter is how soon after its end, or after an attempt that failed, the nodes of a world dial a
// connection again.
const redialAfter = 300 * time.Millisecond

// connect has a node dial the members of its view.
func (w *world) connect(n *node, v *view.View) {
	if !w.dials {
		return
	}
	for _, o := range v.Members {
		if o.UID != n.uid {
			w.dial(n, o.UID)
		}
	}
}

// disconnect has all others find that their connections to a node have ended.
func (w *world) disconnect(gone *node) {
	if !w.dials {
		return
	}
	for _, n := range w.living() {
		if n != gone {
			w.dial(n, gone.uid)
		}
	}
}

// dial has a node connect to another one, again and again while that is a member and does not answer.
func (w *world) dial(n *node, uid view.UID) {
	w.after(2*w.latency, func() {
		o := w.byUID[uid]
		if v := n.m.View(); !n.alive || v == nil || !v.Has(uid) {
			return
		}
		closed := w.cut != nil && (w.cut(n, o) || w.cut(o, n))
		switch {
		case !closed && o.alive:
			n.step(Dialled{UID: uid})
			return
		case !closed || w.refusing:
			n.step(Dialled{UID: uid, Refused: true})
		}
		w.after(redialAfter, func() { w.dial(n, uid) })
	})
}

// crashing founds so many nodes whose connections are played.
func crashing(t *testing.T, n int, tune func(*Config)) (*world, []*node) {
	cfg := LAN()
	if tune != nil {
		tune(&cfg)
	}
	w := newWorld(t, 31, cfg)
	w.dials, w.encode = true, true
	ns := w.found(n)
	w.run(2 * time.Second)
	return w, ns
}

// removed returns how long it takes until a node has installed a view without another one.
func (w *world) removed(n *node, other view.UID) time.Duration {
	w.t.Helper()
	began := w.now
	if !w.until(time.Minute, func() bool { return !n.m.View().Has(other) }) {
		w.t.Fatal("it stays a member:", n.m)
	}
	return w.now - began
}

// TestACrashIsDroppedWithItsLease: the end of a process is decided when its lease has run out, and no
// sooner. CrashStableAfter is waited for, if it is longer.
func TestACrashIsDroppedWithItsLease(t *testing.T) {
	const slack = 100 * time.Millisecond
	lan := LAN()
	lease := [2]time.Duration{lan.promise() - lan.HeartbeatInterval, lan.promise() + slack}
	silence := lan.UnreachableAfter + lan.StableAfter
	for name, c := range map[string]struct {
		nodes, crash int
		tune         func(*Config)
		within       [2]time.Duration
	}{
		"one of two":                        {2, 1, nil, lease},
		"one of three":                      {3, 1, nil, lease},
		"two of five":                       {5, 2, nil, lease},
		"one of seven, of which three vote": {7, 1, func(c *Config) { c.VotersMax = 3 }, lease},
		"a longer CrashStableAfter": {
			3, 1, func(c *Config) { c.CrashStableAfter, c.StableAfter = 6*time.Second, 8*time.Second },
			[2]time.Duration{6 * time.Second, 6*time.Second + slack},
		},
		"CrashStableAfter above StableAfter": {
			3, 1, func(c *Config) { c.CrashStableAfter = time.Hour },
			[2]time.Duration{lan.StableAfter, lan.StableAfter + slack},
		},
		"a format level at which it is not told": {
			3, 1, func(c *Config) { c.Formats = format.Range{Min: format.Initial, Max: format.Crashes - 1} },
			[2]time.Duration{lan.StableAfter, lan.StableAfter + slack},
		},
	} { // order: each has a world of its own
		t.Run(name, func(t *testing.T) {
			w, ns := crashing(t, c.nodes, c.tune)
			voters := ns[0].m.View().Voters()
			gone := voters[len(voters)-c.crash:]
			if len(voters) == 2 && voters[1].UID < voters[0].UID {
				gone = voters[:1] // of two, the one with the lower uid can go on alone
			}
			for _, o := range gone {
				w.byUID[o.UID].crash()
			}
			stays := w.living()[0]
			took := w.removed(stays, gone[0].UID)
			if took < c.within[0] || took > c.within[1] {
				t.Errorf("dropped after %v, want %v", took, c.within)
			}
			w.verdict()
		})
	}
	w, ns := crashing(t, 3, nil)
	w.cut = func(a, b *node) bool { return a == ns[2] || b == ns[2] } // connections neither end nor are refused
	if took := w.removed(ns[0], ns[2].uid); took < silence-lan.HeartbeatInterval || took > silence+slack {
		t.Errorf("cut off, and dropped after %v", took)
	}
	w.verdict()
}

// TestAVoterThatHearsItKeepsIt: one voter reaches neither end of a connection to a member, which the
// others hear. It is not dropped before StableAfter, and not at all when it is heard again.
func TestAVoterThatHearsItKeepsIt(t *testing.T) {
	w, ns := crashing(t, 3, nil)
	v := ns[0].m.View()
	vs := v.Voters()
	oldest, second, third := w.byUID[vs[0].UID], w.byUID[vs[1].UID], w.byUID[vs[2].UID]
	w.cut = func(a, b *node) bool { return a == oldest && b == third || a == third && b == oldest }
	w.refusing = true
	w.dial(oldest, third.uid)
	w.run(time.Second)
	if oldest.reaches(third) || !second.reaches(third) {
		t.Fatal("a refused connection is not seen:", oldest.m, second.m)
	}
	w.run(6 * time.Second)
	if !oldest.m.View().Has(third.uid) {
		t.Error("it is dropped although a voter hears it:", oldest.m)
	}
	w.cut = nil
	w.run(3 * time.Second)
	if !oldest.reaches(third) || oldest.m.View().Epoch != v.Epoch {
		t.Error("it is not heard again:", oldest.m)
	}
	w.verdict()
}

// TestRefusedAndHeard: a node whose machine refuses connections, and that is heard all the same, is
// taken for ended once and not with each attempt.
func TestRefusedAndHeard(t *testing.T) {
	w, ns := crashing(t, 3, nil)
	lost := 0
	w.reactMore = func(_ *node, e Event) {
		if u, ok := e.(MemberUnreachable); ok && u.Member.UID == ns[2].uid {
			lost++
		}
	}
	for range 20 {
		ns[0].step(Dialled{UID: ns[2].uid, Refused: true})
		w.run(500 * time.Millisecond)
	}
	if lost != 1 || !ns[0].reaches(ns[2]) {
		t.Errorf("unreachable %d times: %v", lost, ns[0].m)
	}
	ns[0].step(Dialled{UID: ns[2].uid})
	ns[0].step(Dialled{UID: ns[2].uid, Refused: true})
	if lost != 2 {
		t.Error("the end of the next connection is not seen")
	}
	w.verdict()
}

// TestARestartTakesItsPlaceWithTheLease: the next incarnation at the address of a node that was killed
// comes up as soon as the lease of the one before is over.
func TestARestartTakesItsPlaceWithTheLease(t *testing.T) {
	w, ns := crashing(t, 3, nil)
	ns[2].crash()
	w.base.BootstrapExpect = 0
	w.run(200 * time.Millisecond)
	w.start(ns[2].addr, nil)
	if most := w.base.promise() + 2*w.base.HeartbeatInterval; !w.until(most, w.converged) {
		t.Errorf("not up after %v: %v", most, ns[0].m)
	}
	w.verdict()
}

// refusingCut: a firewall around the oldest node refuses all connections to it and from it, while it
// runs on under its lease. The others find its process ended, all of them.
func refusingCut(t *testing.T, f defect.Set) *world {
	w, oldest, second, third := scripted(t, f, nil)
	w.dials, w.refusing = true, true
	for _, n := range w.living() {
		w.connect(n, n.m.View())
	}
	w.run(time.Second)
	w.cut = func(a, b *node) bool { return a == oldest || b == oldest }
	for _, n := range []*node{second, third} {
		w.dial(n, oldest.uid)
		w.dial(oldest, n.uid)
	}
	w.until(30*time.Second, func() bool { return !second.m.View().Has(oldest.uid) })
	w.cut = nil
	w.run(30 * time.Second)
	return w
}
