package membership

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// grownUnsettled founds three nodes and lets them grow to five. What came after the founding is not
// settled.
func grownUnsettled(t *testing.T, seed uint64) *world {
	w := newWorld(t, seed, LAN())
	w.base.Roles, w.encode = []string{"r"}, true
	w.found(3)
	w.run(time.Second)
	w.stuck = true
	w.base.BootstrapExpect = 0
	w.start("d", nil)
	w.start("e", nil)
	if !w.until(20*time.Second, w.converged) {
		t.Fatal("did not grow:", w.nodes[0].m)
	}
	w.base.BootstrapExpect = 3
	return w
}

func (w *world) stopAll() {
	for _, n := range w.living() {
		n.crash()
	}
	w.run(time.Second)
}

func (w *world) startAll(addrs ...string) {
	for _, a := range addrs {
		w.start(a, nil)
	}
}

// TestLoadingCountsIntoTheWait: what earlier incarnations granted runs out while the next ones
// load. It is counted from when the disk was theirs, and never from a later moment than the first
// step.
func TestLoadingCountsIntoTheWait(t *testing.T) {
	const probes = 2 * time.Second
	base := LAN()
	for _, c := range []struct {
		// for how long before the first step; until the leases, and two probes, are over after it
		loaded, wait time.Duration
	}{
		{0, base.promise()}, {2 * time.Second, base.promise() - 2*time.Second}, {base.promise() + time.Second, probes},
		{-time.Hour, base.promise()},
	} {
		w := newWorld(t, 25, LAN())
		w.found(3)
		w.stopAll()
		w.run(time.Minute)
		for _, a := range addrs(3) {
			w.start(a, func(cfg *Config) { cfg.DiskSince = time.Unix(1_000_000, 0).Add(w.now - c.loaded) })
		}
		began := w.now
		if !w.until(time.Minute, w.converged) {
			t.Fatalf("after %v of loading: not founded: %v", c.loaded, w.living()[0].m)
		}
		if took := w.now - began; took < c.wait || took > c.wait+2*base.HeartbeatInterval {
			t.Errorf("after %v of loading a founding took %v, want %v and little more", c.loaded, took, c.wait)
		}
		w.verdict()
	}
}

func disksAt(addrs ...string) (ds []view.DiskID) {
	for _, a := range addrs {
		ds = append(ds, diskOf(a))
	}
	return ds
}

// TestColdStartNeedsEveryUnsettledView: three of five disks are a majority of the last view, but
// only one of them was in the view before. In that view's time two others may have acknowledged
// what no other disk knows.
func TestColdStartNeedsEveryUnsettledView(t *testing.T) {
	w := grownUnsettled(t, 21)
	last := w.checker.newest()
	w.stopAll()
	w.startAll("c", "d", "e")
	w.run(30 * time.Second)
	for _, n := range w.living() {
		if n.m.View() != nil || !strings.Contains(strings.Join(n.waiting, "\n"), "perhaps not settled") {
			t.Errorf("%v waits because of %q", n.m, n.waiting)
		}
	}
	w.startAll("b")
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded with two of the first three:", w.living()[0].m)
	}
	v := w.living()[0].m.View()
	want := [][]view.DiskID{disksAt("a", "b", "c")}
	if sets := v.LastDisks("r"); v.Cluster != last.Cluster || len(sets) < 2 || !reflect.DeepEqual(sets[0], want[0]) ||
		!reflect.DeepEqual(sets[len(sets)-1], last.Disks("r")) {
		t.Errorf("founded %v after %v", v, last)
	}
	w.verdict()
}

// TestOnlyLastDisksFound: the planted defect lets the three found.
func TestOnlyLastDisksFound(t *testing.T) {
	w := grownUnsettled(t, 21)
	w.stopAll()
	w.base.Plant(defect.Of(defect.OnlyLastDisks))
	w.startAll("c", "d", "e")
	if !w.until(30*time.Second, w.converged) {
		t.Error("the planted defect changes nothing:", w.living()[0].m)
	}
}

// TestJoinersKnowWhatWasBefore: the list comes with the view, so that a node that joined last, or
// missed a view, knows it.
func TestJoinersKnowWhatWasBefore(t *testing.T) {
	w := grownUnsettled(t, 22)
	for _, n := range w.living() {
		if s := n.m.View().Unsettled; len(s) == 0 || !reflect.DeepEqual(s[0].Disks, disksAt("a", "b", "c")) {
			t.Errorf("%v does not know of the three", n.m)
		}
	}
	w.verdict()
}

// TestSettledViewsAreHistory: with one node's word on disk that the last view is settled, its
// majority is enough. The word need not be repeated by a later view.
func TestSettledViewsAreHistory(t *testing.T) {
	w := grownUnsettled(t, 23)
	w.livingAt("e").step(Settled{w.checker.newest().Epoch})
	w.stopAll()
	w.startAll("c", "d", "e")
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded:", w.living()[0].m)
	}
	if sets := w.living()[0].m.View().LastDisks("r"); !reflect.DeepEqual(sets,
		[][]view.DiskID{disksAt("a", "b", "c", "d", "e")}) {
		t.Errorf("founded after %v", sets)
	}
	w.verdict()
}

// TestUnsettledFoundingRemembers: a cluster that stops again before its founding was settled still
// needs the disks that the founding needed.
func TestUnsettledFoundingRemembers(t *testing.T) {
	w := grownUnsettled(t, 24)
	w.stopAll()
	w.startAll("b", "c", "d")
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded:", w.living()[0].m)
	}
	w.stopAll()
	w.startAll("c", "d")
	w.run(30 * time.Second)
	for _, n := range w.living() {
		if n.m.View() != nil {
			t.Errorf("two of five founded %v", n.m)
		}
	}
	w.stuck = false
	w.startAll("b")
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded again:", w.living()[0].m)
	}
	w.run(time.Second)
	w.stopAll()
	w.startAll("c", "d")
	if !w.until(30*time.Second, w.converged) {
		t.Error("two of three did not found when all was settled:", w.living()[0].m)
	}
	w.verdict()
}

// TestEveryRoleMustSettle: nodes speak for their own roles only.
func TestEveryRoleMustSettle(t *testing.T) {
	w := newWorld(t, 25, LAN())
	w.stuck = true
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	for a, roles := range map[string][]string{"a": {"r"}, "b": {"r", "s"}, "c": {"s"}} { // order: of starts only
		w.start(a, func(c *Config) { c.Roles = roles })
	}
	if !w.until(30*time.Second, w.converged) {
		t.Fatal("not founded:", w.nodes[0].m)
	}
	a, b := w.livingAt("a"), w.livingAt("b")
	a.step(Settled{1})
	w.run(time.Second + 100*time.Millisecond) // a heartbeat of each
	if got := a.m.member.settlement.Settled(); got != 0 {
		t.Errorf("settled %v without a word on role s", got)
	}
	w.livingAt("c").step(Settled{1})
	w.run(time.Second + 100*time.Millisecond)
	if got := b.m.member.settlement.Settled(); got != 1 {
		t.Errorf("settled %v with the words of both", got)
	}
	v := b.m.View()
	if got := v.Own(); len(got) != 2 || !reflect.DeepEqual(got[1].Disks, disksAt("b", "c")) || got[1].Role != "s" {
		t.Errorf("%v has the disks %v", v, got)
	}
	w.verdict()
}

// TestNobodyBecomesUpWithoutRoom: another voter would be another set to remember.
func TestNobodyBecomesUpWithoutRoom(t *testing.T) {
	w := newWorld(t, 26, LAN())
	w.base.Roles = []string{"r"}
	n := w.found(1)[0]
	w.stuck = true
	for e := range view.Epoch(view.SetsMax / 2) {
		n.m.member.view.Unsettled = append(n.m.member.view.Unsettled, view.DiskSet{
			Epoch: e + 2, Role: "r", Disks: []view.DiskID{1, view.DiskID(e + 2)},
		})
	}
	n.m.member.view.Epoch = view.SetsMax
	n.m.member.view.Digest = n.m.member.view.Hash()
	n.m.member.settlement = view.Settle(n.m.member.view.View, n.m.member.reports.Settled)
	room := func() bool {
		return view.RoomForSets(view.SetsSince(n.m.member.view.Unsettled, n.m.member.settlement.Settled()))
	}
	if room() {
		t.Error("there is room")
	}
	n.step(Settled{3})
	if !room() {
		t.Error("there is none, but a view was settled")
	}
}

// TestFoundersWaitForTheNewestView: three of five voters of a view died before it was decided, and
// have waited long for what they had granted themselves. That the view was decided they learn from
// a node that does not vote, and that has just installed it. Until a lease has passed since then,
// one may run that was granted in the view before.
func TestFoundersWaitForTheNewestView(t *testing.T) {
	for _, c := range []struct {
		knows string // which address has the newest view
		ago   time.Duration
		wait  bool
	}{
		{"f", 0, true}, {"f", time.Hour, false}, {"e", 0, true}, {"e", time.Hour, false},
	} {
		w := newWorld(t, 26, LAN())
		w.found(6)
		as := addrs(6)
		before := *w.living()[0].m.View()
		before.Unsettled = nil
		newest := before
		newest.Epoch, newest.Parent, newest.Members, newest.Founded = before.Epoch+1, before.Hash(),
			slices.Clone(before.Members), false
		learner := slices.IndexFunc(newest.Members, func(o view.Member) bool { return o.Addr == as[5] })
		newest.Members[learner].Status, newest.Members[learner].UpNumber = view.Joining, 0
		w.stopAll()
		w.run(time.Minute)
		for _, a := range as {
			r := record.Record{Name: w.base.Name, Last: &before, Settled: before.Epoch}
			if a == c.knows {
				r = record.Record{Name: w.base.Name, Last: &newest, Settled: newest.Epoch}
			}
			w.disks[a] = r.Encode()
		}
		began := w.now
		for _, a := range as[2:] { // of the voters a and b run on elsewhere
			ago := time.Hour
			if a == c.knows {
				ago = c.ago
			}
			w.start(a, func(cfg *Config) { cfg.DiskSince = time.Unix(1_000_000, 0).Add(w.now - ago) })
		}
		if !w.until(time.Minute, func() bool { return w.living()[0].m.View() != nil }) {
			t.Fatalf("%+v: not founded: %v %v", c, w.living()[0].m, w.living()[0].waiting)
		}
		if took := w.now - began; (took >= w.base.promise()) != c.wait {
			t.Errorf("%+v: founded after %v", c, took)
		}
	}
}
