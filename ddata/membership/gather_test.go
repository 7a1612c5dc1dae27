package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestThoseWhoStartTogetherComeInTogether: one decision lets in all that have been heard by then,
// and one makes Up all that have caught up. No node waits for its next probe. Each view costs a
// message between any two.
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
		return w.converged() && len(v.Full()) == n
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

// TestLateOneIsNotWaitedFor: a learner that does not catch up holds no other node back.
func TestLateOneIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, 32, LAN())
	w.found(3)
	w.settle = time.Hour
	w.start("d", nil)
	w.run(3 * time.Second)
	w.settle = 10 * time.Millisecond
	e := w.start("e", nil)
	if !w.until(2*w.base.HeartbeatInterval, func() bool { return e.m.member.me().Status == view.Up }) {
		t.Error("not Up:", e.m)
	}
	w.verdict()
}

// TestJoinersAskFew: of hundreds that it has only heard of, a joiner asks some in each round, and
// its seeds always.
func TestJoinersAskFew(t *testing.T) {
	cfg := LAN()
	cfg.UID, cfg.Addr, cfg.Seeds = 1, "1", []string{"a", "b"}
	m, err := New(cfg, rand.New(rand.NewPCG(1, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	const hints = 100
	for i := range hints {
		m.Step(time.Unix(1, 0), Hint{Addr: fmt.Sprint("hint", i), Alive: true})
	}
	heard := map[string]int{}
	const rounds = hints/bootstrap.AskedMax + 2
	for range rounds {
		asked := 0
		for _, e := range m.Step(m.Deadline(), Tick{}).Send {
			heard[e.Addr]++
			asked++
		}
		if asked > bootstrap.AskedMax+2 {
			t.Fatalf("%d asked in one round", asked)
		}
	}
	if len(heard) != hints+2 || heard["a"] != rounds || heard["b"] != rounds {
		t.Errorf("%d of %d asked, the seeds %d and %d times of %d", len(heard), hints+2, heard["a"], heard["b"], rounds)
	}
}

// TestLaggardFetchesOneView: a member that has missed a view is told so by all, and gets the view
// once.
func TestLaggardFetchesOneView(t *testing.T) {
	w := newWorld(t, 33, LAN())
	ns := w.found(7)
	late := ns[6]
	w.cut = func(a, b *node) bool { return a == late || b == late }
	w.start("x", nil)
	if !w.until(3*time.Second, func() bool { return len(ns[0].m.View().Voters()) == 8 }) {
		t.Fatal("no node joined:", ns[0].m)
	}
	views := 0
	w.watch = func(n *node, in Input, _ *Effects) {
		if r, ok := in.(Receive); ok && n == late {
			if _, ok := r.Msg.(message.Commit); ok {
				views++
			}
		}
	}
	w.run(time.Second / 2)
	w.cut = nil
	if !w.until(2*w.base.HeartbeatInterval, w.converged) {
		t.Error("it has not heard:", late.m)
	}
	w.run(w.base.HeartbeatInterval)
	if views != 1 {
		t.Errorf("%d views came", views)
	}
	w.verdict()
}

// TestThoseWhoDieTogetherGoTogether: members without a vote die, so no node has to wait for their
// leases. Their silences are noticed up to a heartbeat apart. A view without the first of the dead
// would put off the others by what it promises them.
func TestThoseWhoDieTogetherGoTogether(t *testing.T) {
	w := newWorld(t, 36, LAN())
	w.base.VotersMax = 3
	ns := w.found(20)
	w.run(3 * time.Second)
	epoch := ns[0].m.View().Epoch
	var dead []*node
	for _, n := range ns {
		if len(dead) < 6 && !slices.ContainsFunc(ns[0].m.View().Voters(),
			func(o view.Member) bool { return o.UID == n.uid }) {
			dead = append(dead, n)
		}
	}
	for i, n := range dead {
		w.after(time.Duration(i)*150*time.Millisecond, n.crash)
	}
	w.run(time.Second)
	died := w.now
	if !w.until(30*time.Second, func() bool { return w.converged() && len(w.living()[0].m.View().Members) == 14 }) {
		t.Fatal("not removed:", w.living()[0].m)
	}
	took, views := w.now-died, w.living()[0].m.View().Epoch-epoch
	t.Logf("removed %v after the last death, in %d views", took, views)
	if most := w.base.UnreachableAfter + w.base.StableAfter + 2*w.base.HeartbeatInterval; took > most || views != 1 {
		t.Errorf("it took %v and %d views, want at most %v and one", took, views, most)
	}
	w.verdict()
}

// TestMadeUpJoinersKeepNobodyOut: a stranger has filled the list of joiners with addresses at which
// no node answers. A real one gets in.
func TestMadeUpJoinersKeepNobodyOut(t *testing.T) {
	w := newWorld(t, 36, LAN())
	ns := w.found(3)
	flood := func() {
		for i := range 2 * joiners.Max {
			for _, n := range ns {
				uid := view.UID(1_000_000 + i)
				p := bootstrap.Probe{
					Name: n.m.cfg.Name, Settings: n.m.common.Settings, Self: view.Member{
						UID: uid, Addr: uid.String(), Status: view.Joining, Formats: format.Build(),
					},
				}
				n.step(Receive{From: uid, FromAddr: p.Self.Addr, Msg: p})
			}
		}
	}
	flood()
	if n := ns[0].m.member.gate.joiners.Len(); n != joiners.Max {
		t.Fatalf("%d joiners, the bound is %d", n, joiners.Max)
	}
	j := w.start("j", nil)
	if !w.until(4*w.base.HeartbeatInterval, func() bool { return j.m.View() != nil }) {
		t.Error("not let in:", j.m)
	}
}
