package membership

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// fewVoters founds seven nodes of which three vote, and returns them by age.
func fewVoters(t *testing.T, tune func(*Config)) (w *world, byAge []*node) {
	cfg := LAN()
	cfg.VotersMax = 3
	if tune != nil {
		tune(&cfg)
	}
	w = newWorld(t, 7, cfg)
	w.found(7)
	for _, o := range w.nodes[0].m.View().Full() {
		byAge = append(byAge, w.byUID[o.UID])
	}
	return w, byAge
}

// TestVotersChooseThemselves: a cluster whose configuration says nothing of voters has as many as
// are of use, all members of a small one and 25 of a large one. Only one that says so has more.
func TestVotersChooseThemselves(t *testing.T) {
	const large = votersUsual + 5
	for _, c := range []struct { // order: each is tried by itself
		max, nodes, want int
		strategy         downing.Strategy
	}{
		{0, votersUsual, votersUsual, nil},
		{0, large, votersUsual, nil},
		{0, large, votersUsual, downing.KeepOldest{}},
		{0, large, large, downing.StaticQuorum{Size: large/2 + 1}},
		{-1, large, large, nil},
	} {
		cfg := LAN()
		cfg.VotersMax, cfg.Strategy = c.max, cmp.Or(c.strategy, cfg.Strategy)
		w := newWorld(t, uint64(c.nodes), cfg)
		w.found(c.nodes)
		if v := w.nodes[0].m.View(); len(v.Full()) != c.nodes || len(v.Voters()) != c.want {
			t.Errorf("VotersMax %d: %d of %d vote, want %d", c.max, len(v.Voters()), c.nodes, c.want)
		}
	}
}

// TestFewVotersSayLittle: heartbeats go to voters only (§C.4), and all members hold their leases by
// them. A member that does not vote may be silent to another such member, and that does not count
// as its death.
func TestFewVotersSayLittle(t *testing.T) {
	w, ns := fewVoters(t, nil)
	sent := make(map[*node]int)
	w.watch = func(n *node, _ Input, fx *Effects) {
		for _, e := range fx.Send {
			if _, ok := e.Msg.(message.Heartbeat); ok {
				sent[n]++
			}
		}
	}
	const beats = 30
	w.run(beats * w.base.HeartbeatInterval)
	for i, n := range ns {
		want := 3 * beats
		if i < 3 {
			want = 2 * beats
		}
		if sent[n] < want-3 || sent[n] > want+3 {
			t.Errorf("number %d by age sent %d heartbeats in %d intervals, want %d", i+1, sent[n], beats, want)
		}
		if !n.m.Lease().Holds(n.local()) || n.m.Stats().LeasesLost > 0 {
			t.Errorf("%v has lost its lease", n.m)
		}
		for _, o := range ns {
			if !n.reaches(o) {
				t.Errorf("%v does not hear %v", n, o)
			}
		}
	}
	w.verdict()
}

// TestNextOldestComesToVote: voters and others crash; the next oldest come to vote, and the cluster
// goes on as long as no majority of the voters goes at once.
func TestNextOldestComesToVote(t *testing.T) {
	w, ns := fewVoters(t, nil)
	for _, dead := range []int{6, 0, 1, 2} {
		ns[dead].crash()
		if !w.until(20*time.Second, w.converged) {
			t.Fatalf("not decided without number %d: %v", dead+1, ns[5].m)
		}
	}
	v := ns[5].m.View()
	voters := v.Voters()
	if len(v.Members) != 3 || len(voters) != 3 || voters[0].UID != ns[3].uid || !ns[3].acts() {
		t.Errorf("want the last three to vote, and %v to act: %v", ns[3], v)
	}
	w.verdict()
}

// TestMajorityOfVotersLost: the price of a cap.
func TestMajorityOfVotersLost(t *testing.T) {
	w, ns := fewVoters(t, nil)
	ns[1].crash()
	ns[2].crash()
	w.run(w.base.SelfDownAfter + w.base.LeaseDuration + time.Second)
	for _, n := range ns {
		if n.alive || n.done != errCrashed && !errors.Is(n.done, ErrDowned) {
			t.Errorf("%v ended with %v", n.m, n.done)
		}
	}
	w.verdict()
}

// TestHintsAmongThoseWhoDoNotVote: two that do not vote beat to neither of each other. A hint makes
// one ask the other: it answers, or counts as unreachable until it answers again.
func TestHintsAmongThoseWhoDoNotVote(t *testing.T) {
	w, ns := fewVoters(t, func(c *Config) { c.Strategy = downing.Manual{} })
	a, b := ns[4], ns[5]
	a.step(Hint{UID: b.uid, Addr: b.addr})
	w.run(2 * w.base.UnreachableAfter)
	if !a.reaches(b) {
		t.Error("a hint alone makes unreachable")
	}
	w.cut = func(x, y *node) bool { return x == b || y == b }
	w.run(time.Second)
	a.step(Hint{UID: b.uid, Addr: b.addr})
	w.run(w.base.UnreachableAfter)
	if a.reaches(b) || !ns[6].reaches(b) || ns[0].reaches(b) {
		t.Errorf("want it unreachable for the voters and for the node that got the hint: %v; %v; %v", a.m, ns[6].m,
			ns[0].m)
	}
	w.cut = nil
	w.run(2 * w.base.HeartbeatInterval)
	if !a.reaches(b) || !ns[0].reaches(b) {
		t.Error("not reachable again:", a.m)
	}
	w.verdict()
}

// TestFewVotersAllLeave: a member that does not vote hears of the voters' going in time, too; and
// an operator's word reaches it.
func TestFewVotersAllLeave(t *testing.T) {
	w, ns := fewVoters(t, nil)
	ns[1].step(Down{ns[6].uid})
	w.run(time.Second)
	if !errors.Is(ns[6].done, ErrDowned) {
		t.Errorf("downed: %v", ns[6].m)
	}
	for _, n := range ns[:6] {
		n.step(Leave{})
	}
	w.run(5 * time.Second)
	for _, n := range ns[:6] {
		if !errors.Is(n.done, ErrLeft) {
			t.Errorf("%v ended with %v: %v", n, n.done, n.m)
		}
	}
	w.verdict()
}

// TestFewVotersColdStart: a quorum of the voters' disks founds anew, and of all disks what was
// acknowledged may be on is asked for half.
func TestFewVotersColdStart(t *testing.T) {
	w, ns := fewVoters(t, func(c *Config) { c.Roles = []string{"r"} })
	w.run(10 * time.Second)
	for _, n := range ns {
		n.crash()
	}
	w.base.BootstrapExpect = 3
	for _, n := range ns[3:] { // a majority of all, but none that would know of a later view
		w.start(n.addr, nil)
	}
	w.run(20 * time.Second)
	if n := w.livingAt(ns[3].addr); n.m.View() != nil {
		t.Fatalf("founded without the voters: %v", n.m)
	}
	w.start(ns[0].addr, nil)
	w.start(ns[1].addr, nil)
	if !w.until(30*time.Second, w.converged) {
		t.Error("not founded anew:", w.livingAt(ns[0].addr).m)
	}
	w.verdict()
}

// TestLateFoundersFound: with one voter the next view can be decided before the other founders have
// heard of the first. They are founders nevertheless: what they install first is the founding.
func TestLateFoundersFound(t *testing.T) {
	w := newWorld(t, 35, LAN())
	w.base.BootstrapExpect, w.base.VotersMax, w.base.Seeds = 5, 1, addrs(5)
	var first *node // the node that has heard first that all are locked
	w.filter = func(from, to *node, msg message.Message) bool {
		switch m := msg.(type) {
		case bootstrap.Locked:
			for _, n := range w.living() {
				if n.m.View() != nil {
					first = n
				}
			}
			// the others do not hear that all are locked
			return first == nil || first.m.View().Voters()[0].UID == to.uid
		case message.Commit:
			return m.View.Epoch > 1
		}
		return true
	}
	installed := map[*node][]*view.View{}
	w.watch = func(n *node, _ Input, fx *Effects) { installed[n] = append(installed[n], fx.Install...) }
	for _, a := range addrs(5) {
		w.start(a, nil)
	}
	// a reason for another view
	w.after(4*time.Second, func() { w.start("j", func(c *Config) { c.BootstrapExpect = 0 }) })
	if !w.until(20*time.Second, func() bool { return len(w.living()) == 6 && w.converged() }) {
		t.Fatal("not founded:", w.living()[0].m, w.living()[0].waiting)
	}
	late := 0
	for _, n := range w.living() {
		views := installed[n]
		if n.addr == "j" || len(views) == 0 {
			continue
		}
		if !views[0].Founded || views[0].Epoch != 1 {
			t.Errorf("%v installed %v first", n, views[0])
		}
		if n != first && len(views) > 1 {
			late++
		}
	}
	if late == 0 {
		t.Error("no node was late: the test shows nothing")
	}
	w.verdict()
}

// TestVotersWhoLeaveHandOver: the only voter leaves, has nothing to hand over, and nothing that it
// says at its end arrives. Another votes by then, and decides that it is gone. If the others cannot
// be heard, it stays until they are.
func TestVotersWhoLeaveHandOver(t *testing.T) {
	for _, cutOff := range []bool{false, true} {
		w, ns := fewVoters(t, func(c *Config) { c.VotersMax, c.Strategy = 1, downing.Manual{} })
		w.filter = func(from, _ *node, _ message.Message) bool { return from.done == nil }
		if cutOff {
			w.cut = func(a, b *node) bool { return a == ns[1] || b == ns[1] }
			w.run(2 * w.base.UnreachableAfter)
		}
		ns[0].step(Leave{})
		ns[0].step(Stopped{})
		w.run(5 * w.base.HeartbeatInterval)
		if cutOff {
			if ns[0].done != nil || ns[0].m.member.me().Status != view.Up {
				t.Errorf("the only voter went, though the next one is not heard: %v", ns[0].m)
			}
			w.cut = nil
			w.run(5 * w.base.HeartbeatInterval)
		}
		if !errors.Is(ns[0].done, ErrLeft) {
			t.Errorf("cut off %t: the only voter has not left: %v", cutOff, ns[0].m)
		}
		if v := ns[1].m.View(); v.Has(ns[0].uid) || len(v.Voters()) != 1 || v.Voters()[0].UID != ns[1].uid {
			t.Errorf("cut off %t: not decided without it: %v", cutOff, v)
		}
		w.verdict()
	}
}
