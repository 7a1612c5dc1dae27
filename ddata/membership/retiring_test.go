package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// often has incarnations retire as soon as three have come.
func often(c *Config) { c.RetireAfter = 3 }

// ages are those of the view of a living node.
func (w *world) ages() view.Ages {
	if a := w.living()[0].m.View().Ages; a != nil {
		return *a
	}
	return view.Ages{}
}

// renew restarts a node, and waits until it is back.
func (w *world) renew(n *node) *node {
	w.t.Helper()
	n.crash()
	n = w.start(n.addr, nil)
	if !w.until(time.Minute, w.converged) {
		w.t.Fatalf("%v does not come back: %v", n, n.m)
	}
	return n
}

// retired lets time pass until a retirement that began after one has ended.
func (w *world) retired(after view.Epoch) {
	w.t.Helper()
	if !w.until(time.Minute, func() bool { return w.ages().AgreedIn > after && w.ages().Ending.Empty() }) {
		w.t.Fatalf("incarnations do not retire: %v", w.living()[0].m.View())
	}
}

// aging is a cluster of three in which incarnations retire often.
func aging(t *testing.T, f defect.Set) (*world, []*node) {
	cfg := LAN()
	often(&cfg)
	cfg.Roles = []string{"x"}
	cfg.Plant(f)
	w := newWorld(t, 1, cfg)
	w.restart = func(n *node) {
		if errors.Is(n.done, ErrStalled) {
			w.after(time.Second, func() { w.start(n.addr, nil) })
		}
	}
	ns := w.found(3)
	ns[2] = w.renew(ns[2]) // a retirement begins when a node comes up
	return w, ns
}

// TestIncarnationsRetire: a cluster whose nodes are restarted again and again names all that are gone,
// but the last ones, and no view grows.
func TestIncarnationsRetire(t *testing.T) {
	w, ns := aging(t, defect.Set{})
	w.retired(0)
	for range 40 {
		for i := range ns {
			ns[i] = w.renew(ns[i])
			w.run(time.Second)
		}
	}
	w.run(10 * time.Second)
	a := w.ages()
	unnamed, seen := 0, 0
	for _, n := range w.nodes {
		if !n.alive {
			if seen++; !a.Ended.Names(n.uid) {
				unnamed++
			}
		}
	}
	if t.Logf("%d incarnations are over, %d not named by %v", seen, unnamed, &a); unnamed > 12 || seen < 120 {
		t.Errorf("%d of %d incarnations are not named", unnamed, seen)
	}
	if len(a.Ended.Spared) > len(ns) {
		t.Errorf("%d are spared of %d members", len(a.Ended.Spared), len(ns))
	}
	w.verdict()
}

// TestRetirementWaitsForAll: it begins and does not end while one member has not agreed, also when other
// members come and go. It ends when that one is gone.
func TestRetirementWaitsForAll(t *testing.T) {
	w, ns := aging(t, defect.Set{})
	w.retired(0)
	before := w.ages().AgreedIn
	w.agrees = func(n *node) bool { return n != ns[0] }
	for range 3 {
		ns[2] = w.renew(ns[2])
	}
	said := map[string]int{}
	w.reactMore = func(_ *node, e Event) {
		if e, ok := e.(RetirementWaiting); ok {
			said[e.Missing]++
		}
	}
	w.run(20 * time.Second)
	if a := w.ages(); a.Ending.Empty() || a.AgreedIn != before {
		t.Fatalf("a retirement does not wait: %v", &a)
	}
	if silent := fmt.Sprintf("%v@%s", ns[0].uid, ns[0].addr); len(said) != 1 || said[silent] != 1 {
		t.Errorf("said that it waits for %v, not once for %s", said, silent)
	}
	ns[1] = w.renew(ns[1])
	w.run(20 * time.Second)
	if a := w.ages(); a.Ending.Empty() || a.AgreedIn != before {
		t.Fatalf("a retirement does not wait after another view: %v", &a)
	}
	w.renew(ns[0])
	w.retired(before)
	w.verdict()
}

// TestRetirementsAreTold: each member is told once that a retirement begins, and that it has ended.
func TestRetirementsAreTold(t *testing.T) {
	w, ns := aging(t, defect.Set{})
	w.retired(0)
	before := w.ages()
	began, ended := map[*node]int{}, map[*node]int{}
	w.reactMore = func(n *node, e Event) {
		switch e := e.(type) {
		case RetirementBegan:
			if began[n]++; e.View.Ages.Ending.Below <= before.Ended.Below || !strings.Contains(e.String(), "ending") {
				t.Errorf("%v: %v", n, e)
			}
		case RetirementEnded:
			if ended[n]++; e.View.Ages.AgreedIn <= before.AgreedIn || !strings.Contains(e.String(), "since") {
				t.Errorf("%v: %v", n, e)
			}
		}
	}
	for range 3 {
		ns[2] = w.renew(ns[2])
	}
	w.retired(before.AgreedIn)
	w.run(time.Second)
	for _, n := range ns[:2] {
		if began[n] != 1 || ended[n] != 1 {
			t.Errorf("%v was told %d times that it begins, %d that it has ended", n, began[n], ended[n])
		}
	}
	w.verdict()
}

// TestUnaskedRetirementIsNoticed plants that a retirement asks no member.
func TestUnaskedRetirementIsNoticed(t *testing.T) {
	w, _ := aging(t, defect.Of(defect.RetiresUnagreed))
	w.agrees = func(*node) bool { return false }
	if w.until(time.Minute, func() bool { return w.ages().AgreedIn > 0 }); w.ages().AgreedIn == 0 {
		t.Error("the defect makes no difference")
	}
}

// TestNoRetirement: there is none while keys move, a node is of a level before, or views are not settled.
func TestNoRetirement(t *testing.T) {
	for what, tune := range map[string]func(w *world){
		"of a level before": func(w *world) { w.base.Formats = format.Range{Min: 1, Max: format.Ages - 1} },
		"nothing settled":   func(w *world) { w.stuck = true },
		"too few":           func(w *world) { w.base.RetireAfter = 5 },
	} {
		cfg := LAN()
		often(&cfg)
		cfg.Roles = []string{"x"}
		w := newWorld(t, 1, cfg)
		tune(w)
		w.renew(w.found(3)[1])
		if w.run(time.Minute); w.ages().AgreedIn != 0 {
			t.Errorf("%s: %v", what, w.living()[0].m.View())
		}
		w.verdict()
	}
}

// TestNodesAreToldTheBound: a node whose uid is that of an incarnation that is over is refused, and comes
// in under another one, without an operator.
func TestNodesAreToldTheBound(t *testing.T) {
	w, ns := aging(t, defect.Set{})
	w.retired(0)
	low := w.ages().Ended.Below - 5
	n := w.start("x", func(c *Config) { c.UID, c.Seeds, c.BootstrapExpect = low, addrs(3), 0 })
	if !w.until(time.Minute, func() bool { return !n.alive }) {
		t.Fatalf("%v is not refused: %v", n, n.m)
	}
	stalled, ok := errors.AsType[*StalledError](n.done)
	if !ok || stalled.Least < w.ages().Ended.Below || !strings.Contains(stalled.Waiting, "draws another uid") {
		t.Fatalf("it ended with %v", n.done)
	}
	if !w.until(time.Minute, func() bool { return w.converged() && len(w.living()) == 4 }) {
		t.Fatal("it does not come in")
	}
	if ns[0].m.View().Has(low) {
		t.Error("an incarnation is a member that is over")
	}
	w.verdict()
}

// outdatedDisks are a cluster that has stopped after a retirement: its disks, and those from just before its
// members agreed.
func outdatedDisks(t *testing.T, f defect.Set) (w *world, ns []*node, early map[string][]byte, before view.Ages) {
	w, ns = aging(t, f)
	w.retired(0)
	w.agrees = func(*node) bool { return false }
	for range 3 {
		ns[2] = w.renew(ns[2])
	}
	w.run(10 * time.Second)
	first := w.ages().AgreedIn
	early = maps.Clone(w.disks)
	for _, n := range ns {
		n.agreed = append(n.agreed, n.m.View().Epoch)
		n.step(Agreed{n.m.View().Epoch})
	}
	w.retired(first)
	w.run(time.Second)
	before = w.ages()
	w.stopAll()
	return w, ns, early, before
}

// TestUncleanFoundersAreNoticed plants that disks found which have missed that the members agreed.
func TestUncleanFoundersAreNoticed(t *testing.T) {
	w, ns, early, _ := outdatedDisks(t, defect.Of(defect.FoundsUnclean))
	w.disks[ns[0].addr], w.disks[ns[1].addr] = early[ns[0].addr], early[ns[1].addr]
	w.startAll(addrs(3)...)
	if !w.until(time.Minute, w.converged) {
		t.Error("the defect makes no difference")
	}
}

// TestFoundingAnewGoesOnWithAges: the founders take over which incarnations are over. Disks from before
// the members agreed do not found, and the text says why.
func TestFoundingAnewGoesOnWithAges(t *testing.T) {
	w, ns, early, before := outdatedDisks(t, defect.Set{})
	late := maps.Clone(w.disks)
	w.disks[ns[0].addr], w.disks[ns[1].addr] = early[ns[0].addr], early[ns[1].addr]
	w.startAll(addrs(3)...)
	w.run(time.Minute)
	for _, n := range w.living() {
		if n.m.View() != nil {
			t.Fatalf("disks from before take part: %v", n.m)
		}
	}
	last := w.living()[len(w.living())-1]
	if !slices.ContainsFunc(last.waiting, func(s string) bool { return strings.Contains(s, "were away while") }) {
		t.Errorf("%v does not say why: %q", last, last.waiting)
	}
	w.stopAll()
	w.disks[ns[0].addr] = late[ns[0].addr]
	w.start(ns[0].addr, nil)
	w.start(ns[2].addr, nil)
	if !w.until(time.Minute, func() bool { return w.converged() && len(w.living()) == 2 }) {
		t.Fatal("not founded anew")
	}
	if a := w.ages(); a.AgreedIn != before.AgreedIn || a.Ended.Below != before.Ended.Below || a.Came == 0 {
		t.Errorf("founded with %v, before %v", &a, &before)
	}
	w.verdict()
}

// ages: what has ended stays so, and ends when all members of the view before have agreed under it.
func (j *checker) ages(w *world, before, v *view.View) {
	var was, is view.Ages
	if before.Ages != nil {
		was = *before.Ages
	}
	if v.Ages != nil {
		is = *v.Ages
	}
	if is.AgreedIn < was.AgreedIn || is.Ended.Below < was.Ended.Below {
		j.fault(w, "%v forgets what has ended in %v", v, before)
	}
	for u, n := range w.byUID { // order: each for itself
		if was.Ended.Names(u) && !is.Ended.Names(u) {
			j.fault(w, "%v was over in %v, and is not in %v", u, before, v)
		}
		if is.AgreedIn == v.Epoch-1 && before.Has(u) && !slices.Contains(n.agreed, is.AgreedIn) {
			j.fault(w, "%v has not agreed in %v, and %v says so", u, before, v)
		}
	}
	if j.retired = max(j.retired, is.AgreedIn); is.AgreedIn > was.AgreedIn && is.AgreedIn != before.Epoch {
		j.fault(w, "all have agreed in %v, by %v", is.AgreedIn, v)
	}
}
