package membership

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// lone plays what runs on one node of a role: a Singleton beside each machine, and what it starts,
// which takes its time to stop.
type lone struct {
	w      *world
	parts  map[*node]*part
	linger time.Duration // from Stop to Exited
	starts []*node
	deaf   bool                                             // no word arrives
	early  bool                                             // it says that it is done while it still stops
	last   singleton.FencingToken                           // of all starts
	watch  func(*node, singleton.Input, *singleton.Effects) // sees every step
}

type part struct {
	s     *singleton.Machine
	runs  bool
	token singleton.FencingToken // of its last start
}

func (w *world) playLone(linger time.Duration, early bool) *lone {
	l := &lone{w: w, parts: make(map[*node]*part), linger: linger, early: early}
	w.serveMore = func(n *node, v *view.View) { l.step(n, singleton.ViewChanged{View: v}) }
	w.reactMore = func(n *node, e Event) {
		switch e := e.(type) {
		case LeaseLost:
			l.step(n, singleton.LeaseChanged{Held: false})
		case LeaseRegained:
			l.step(n, singleton.LeaseChanged{Held: true})
		case MemberLeaving:
			if e.Member.UID == n.uid {
				l.step(n, singleton.Leave{})
			}
		}
	}
	w.checker.more = l.check
	w.mayStop = func(n *node) bool { return l.part(n).s.State() == singleton.HandedOver }
	for _, n := range w.nodes {
		l.step(n, singleton.ViewChanged{View: n.m.View()})
		l.step(n, singleton.LeaseChanged{Held: n.m.Lease().Holds(n.local())})
	}
	return l
}

func (l *lone) part(n *node) *part {
	p := l.parts[n]
	if p == nil {
		cfg := singleton.Config{Self: n.uid}
		if l.early {
			cfg.Plant(defect.Of(defect.DoneTooEarly))
		}
		p = &part{s: singleton.New(cfg)}
		l.parts[n] = p
	}
	return p
}

// step plays the driver.
func (l *lone) step(n *node, in singleton.Input) {
	if !n.alive {
		return
	}
	if l.w.now < n.paused {
		l.w.at(n.paused, func() { l.step(n, in) })
		return
	}
	p := l.part(n)
	fx := p.s.Step(n.local(), in)
	if l.watch != nil {
		l.watch(n, in, fx)
	}
	for _, e := range fx.Send {
		l.post(n, e)
	}
	if fx.Stop {
		linger := l.linger
		if !l.w.even {
			linger = time.Duration(l.w.rng.Int64N(int64(l.linger) + 1))
		}
		l.w.after(linger, func() { p.runs = false; l.step(n, singleton.Exited{}) })
	}
	if d := p.s.Deadline(); !d.IsZero() {
		l.w.after(max(d.Sub(n.local()), time.Millisecond), func() { l.step(n, singleton.Tick{}) })
	}
	if !fx.Start {
		return
	}
	if !n.m.Lease().Holds(n.local()) {
		l.step(n, singleton.Exited{})
		return
	}
	if !l.last.Less(fx.Token) {
		l.w.checker.fault(l.w, "%v runs it with token %v, after %v", n, fx.Token, l.last)
	}
	p.runs, p.token, l.last = true, fx.Token, fx.Token
	l.starts = append(l.starts, n)
	l.w.log("%v runs it", n)
}

func (l *lone) post(from *node, e singleton.Envelope) {
	w := l.w
	if l.deaf || w.loss > 0 && w.rng.Float64() < w.loss {
		return
	}
	latency := w.latency
	if !w.even {
		latency += time.Duration(w.rng.ExpFloat64() * float64(w.latency))
	}
	w.after(latency, func() {
		if to := w.byUID[e.To]; to != nil && (w.cut == nil || !w.cut(from, to)) {
			l.step(to, singleton.Receive{From: from.uid, Word: e.Word})
		}
	})
}

// check: at no instant two nodes run it, and no node runs it with a token that is not above that of
// another that ran it before. What still runs without the lease has been told to stop, and none of
// its effects happens.
func (l *lone) check() {
	var one *node
	for _, n := range l.w.nodes {
		p := l.parts[n]
		if p == nil || !p.runs || !n.alive || l.w.now < n.paused || !n.m.Lease().Holds(n.local()) {
			continue
		}
		if one != nil {
			l.w.checker.fault(l.w, "two run it: %v since %v and %v since %v", one, l.parts[one].token, n, p.token)
		}
		one = n
	}
}

// running returns the node that runs it now.
func (l *lone) running() *node {
	for _, n := range l.w.nodes {
		if p := l.parts[n]; p != nil && p.runs && n.alive && n.m.Lease().Holds(n.local()) {
			return n
		}
	}
	return nil
}

// TestSingletonIsHandedOver: the next in age runs it as soon as the leaver has stopped it, long
// before a view says that the leaver is gone; if it is not told when that is, the view tells it.
func TestSingletonIsHandedOver(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		w := newWorld(t, 21, LAN())
		w.found(3)
		l := w.playLone(time.Second, false)
		first := l.running()
		if first == nil || first != w.acting() {
			t.Fatal("the oldest does not run it")
		}
		w.settle = 8 * time.Second // the leaver stays in the view for so long
		l.deaf = deaf
		first.step(Leave{})
		if !w.until(20*time.Second, func() bool { return l.running() != nil && l.running() != first }) {
			t.Fatalf("deaf %t: no node took over: %v", deaf, l.starts)
		}
		next := l.running()
		if early := next.m.View().Has(first.uid); early == deaf {
			t.Errorf("deaf %t: taken over while the leaver was in the view: %t", deaf, early)
		}
		if a, b := l.parts[first].token, l.parts[next].token; !a.Less(b) {
			t.Errorf("tokens %v, then %v", a, b)
		}
		w.verdict()
	}
}

// TestSingletonMovesAfterACrash: not before the dead one's lease is over.
func TestSingletonMovesAfterACrash(t *testing.T) {
	w := newWorld(t, 22, LAN())
	w.found(3)
	l := w.playLone(time.Second, false)
	first := l.running()
	first.crash()
	if !w.until(20*time.Second, func() bool { return l.running() != nil }) {
		t.Fatal("no node took over")
	}
	if l.running().m.View().Has(first.uid) {
		t.Error("taken over while the dead one was in the view")
	}
	w.verdict()
}

// TestSingletonInRandomWorlds: never two, whatever happens, and one in the end. Saying done too
// early is noticed.
func TestSingletonInRandomWorlds(t *testing.T) {
	play := func(seed uint64, early bool) (*chaos, *lone) {
		c := newChaos(t, seed, timing(seed))
		l := c.w.playLone(time.Duration(seed%4)*time.Second, early)
		c.weights[6] += 3 // leaves
		c.play()
		if len(c.w.living()) > 0 && !c.w.until(30*time.Second, func() bool { return l.running() != nil }) {
			c.w.checker.fault(c.w, "no node runs it")
		}
		return c, l
	}
	starts, seeds := 0, uint64(50)
	for seed := uint64(1); seed <= seeds; seed++ {
		c, l := play(seed, false)
		for _, f := range c.w.checker.faults {
			t.Fatalf("seed %d: %s", seed, f)
		}
		starts += len(l.starts)
	}
	t.Logf("%d starts in %d worlds", starts, seeds)
	for seed := uint64(1); seed <= 100; seed++ {
		if c, _ := play(seed, true); len(c.w.checker.faults) > 0 {
			t.Logf("done too early, seed %d: %s", seed, c.w.checker.faults[0])
			return
		}
	}
	t.Error("done too early: not noticed")
}
