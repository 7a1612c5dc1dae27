package membership

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// The builds that the tests play.
var (
	oldBuild    = format.Range{Min: 1, Max: 1}
	middleBuild = format.Range{Min: 1, Max: 2}
	newBuild    = format.Range{Min: 2, Max: 3}
)

// speaks has a node be of a build.
func speaks(build format.Range) func(*Config) { return func(c *Config) { c.Formats = build } }

// foundOf starts nodes of these builds that found a cluster together.
func foundOf(t *testing.T, seed uint64, builds ...format.Range) (*world, []*node) {
	t.Helper()
	return foundWith(t, seed, defect.Set{}, builds...)
}

// foundWith is foundOf with planted errors.
func foundWith(t *testing.T, seed uint64, planted defect.Set, builds ...format.Range) (*world, []*node) {
	t.Helper()
	w := newWorld(t, seed, LAN())
	w.base.Plant(planted)
	w.encode = true
	w.base.Seeds, w.base.BootstrapExpect = addrs(len(builds)), len(builds)
	var ns []*node
	for i, b := range builds {
		ns = append(ns, w.start(addrs(len(builds))[i], speaks(b)))
	}
	if !w.until(30*w.base.HeartbeatInterval, w.converged) {
		t.Fatalf("no cluster was founded: %v", ns[0].m)
	}
	return w, ns
}

// replace restarts a node as one of a build, gracefully or not.
func (w *world) replace(n *node, build format.Range, gracefully bool) *node {
	w.t.Helper()
	if n.step(Leave{}); !gracefully {
		n.crash()
	}
	if !w.until(time.Minute, func() bool { return !n.alive }) {
		w.t.Fatal("it does not leave:", n.m)
	}
	next := w.start(n.addr, speaks(build))
	if !w.until(2*time.Minute, w.converged) {
		w.t.Fatal("it does not come up:", next.m)
	}
	return next
}

// formatOf is the level that all living nodes have installed.
func (w *world) formatOf() format.Level {
	w.t.Helper()
	ns := w.living()
	l := ns[0].m.View().Format
	for _, n := range ns {
		if v := n.m.View(); v.Format != l || view.Writes(v, l+1) || !view.Writes(v, l) {
			w.t.Errorf("%v has %v, another has level %d", n, v, l)
		}
	}
	return l
}

// TestTheLevelRisesWithTheLastNode: a rolling restart with a build that speaks one level more, and
// the level rises by the view without the last node of the old build. Each node hears of it once.
func TestTheLevelRisesWithTheLastNode(t *testing.T) {
	for _, gracefully := range []bool{true, false} {
		w, ns := foundOf(t, 1, oldBuild, oldBuild, oldBuild)
		raised := map[*node]int{}
		w.reactMore = func(n *node, e Event) {
			if r, ok := e.(FormatRaised); ok {
				if raised[n]++; r.From != 1 || r.View.Format != 2 || !strings.Contains(e.String(), "from 1 to 2") {
					t.Errorf("%v: %v", n, e)
				}
			}
		}
		for i, n := range ns {
			if l := w.formatOf(); l != 1 {
				t.Errorf("level %d while %d nodes are of the old build", l, len(ns)-i)
			}
			ns[i] = w.replace(n, middleBuild, gracefully)
		}
		if l := w.formatOf(); l != 2 || raised[ns[0]] != 1 || raised[ns[1]] != 1 {
			t.Errorf("level %d when all are of the new build; heard of it: %v", l, raised)
		}
		w.verdict()
	}
}

// TestAHeldLevelLeavesTheWayBack: nodes of a newer build that announce the old level are replaced by
// those of the old build again.
func TestAHeldLevelLeavesTheWayBack(t *testing.T) {
	w, ns := foundOf(t, 2, oldBuild, oldBuild, oldBuild)
	held := format.Range{Min: middleBuild.Min, Max: oldBuild.Max}
	for _, build := range []format.Range{held, oldBuild, held, middleBuild} {
		if l := w.formatOf(); l != 1 {
			t.Errorf("level %d before nodes of %v", l, build)
		}
		for i, n := range ns {
			ns[i] = w.replace(n, build, true)
		}
	}
	if l := w.formatOf(); l != 2 {
		t.Errorf("level %d when no node is held", l)
	}
	w.verdict()
}

// TestFoundersAgreeOnALevel: the highest that all speak.
func TestFoundersAgreeOnALevel(t *testing.T) {
	for _, c := range []struct {
		builds []format.Range
		want   format.Level
	}{
		{[]format.Range{oldBuild, middleBuild, middleBuild}, 1},
		{[]format.Range{newBuild, middleBuild, middleBuild}, 2},
		{[]format.Range{newBuild, newBuild, newBuild}, 3},
	} {
		w, _ := foundOf(t, 3, c.builds...)
		if l := w.formatOf(); l != c.want {
			t.Errorf("%v founded with level %d, want %d", c.builds, l, c.want)
		}
		w.verdict()
	}
}

// TestANodeThatDoesNotSpeakTheLevelIsRefused: one that is too old for the cluster, and one that is too
// new. It ends, and both sides name both.
func TestANodeThatDoesNotSpeakTheLevelIsRefused(t *testing.T) {
	for _, c := range []struct {
		members, joiner format.Range
		want            string
	}{
		{middleBuild, oldBuild, "the cluster has format level 2, and the node speaks level 1"},
		{format.Range{Min: 1, Max: 2}, format.Range{Min: 3, Max: 4}, "levels 1 to 2, and the node levels 3 to 4"},
		{oldBuild, newBuild, "level 1, and the node levels 2 to 3"},
	} {
		w, _ := foundOf(t, 4, c.members, c.members)
		told := ""
		w.reactMore = func(_ *node, e Event) {
			if r, ok := e.(RefusedNode); ok {
				told = r.Text
			}
		}
		j := w.start("j", speaks(c.joiner))
		w.until(time.Minute, func() bool { return !j.alive })
		var refused *RefusedError
		if !errors.As(j.done, &refused) || refused.Reason != bootstrap.ReasonFormat ||
			!strings.Contains(refused.Error(), c.want) || !strings.Contains(told, c.want) {
			t.Errorf("%v at %v: it ended with %v; told %q", c.joiner, c.members, j.done, told)
		}
		w.verdict()
	}
	// one that waits to be let in does not speak the level to which the cluster rises meanwhile
	w, ns := foundOf(t, 5, middleBuild, middleBuild, oldBuild)
	w.filter = func(_, _ *node, msg message.Message) bool { _, decides := msg.(message.Prepare); return !decides }
	j := w.start("j", speaks(oldBuild))
	w.run(5 * time.Second)
	if len(w.nodes) != 4 || ns[0].m.member.gate.joiners.Len() == 0 {
		t.Fatal("it does not wait:", j.m)
	}
	ns[2].crash()
	j.pause(time.Minute)
	w.filter = nil
	if !w.until(2*time.Minute, func() bool { return !j.alive }) || w.formatOf() != 2 {
		t.Errorf("%v in a cluster of %v", j.m, ns[0].m.View())
	}
	w.verdict()
}

// TestALevelOutlivesAStop: a cluster that is founded anew has at least the level that its disks
// remember. A build that does not speak that does not start on such a disk, and leaves it as it is;
// without one it takes no part in the founding.
func TestALevelOutlivesAStop(t *testing.T) {
	w, _ := foundOf(t, 6, middleBuild, middleBuild, middleBuild)
	w.stopAll()
	w.run(time.Minute)
	before := bytes.Clone(w.disks["a"])
	cfg := w.base
	cfg.UID, cfg.Addr, cfg.Disk, cfg.Formats = 1, "a", diskOf("a"), oldBuild
	if _, err := New(cfg, rand.New(rand.NewPCG(1, 1)), w.disks["a"]); !errors.Is(err, format.ErrUnspoken) ||
		!strings.Contains(err.Error(), "format level 2, this node speaks level 1") {
		t.Errorf("an older build on the record: %v", err)
	}
	if !bytes.Equal(before, w.disks["a"]) {
		t.Error("the record was written")
	}
	delete(w.disks, "b")
	w.start("a", speaks(middleBuild))
	old := w.start("b", speaks(oldBuild))
	w.run(time.Minute)
	if len(w.living()) != 2 {
		t.Fatalf("%v ended", w.nodes)
	}
	if text := fmt.Sprint(w.livingAt("a").waiting); !strings.Contains(text, "format level 2") ||
		!strings.Contains(text, "b speaks level 1") {
		t.Errorf("it says %s", text)
	}
	w.start("c", speaks(newBuild))
	if !w.until(time.Minute, func() bool { return !old.alive }) || !errors.Is(old.done, ErrRefused) {
		t.Errorf("the older build without a disk: %v, %v", old.m, old.done)
	}
	if !w.until(time.Minute, w.converged) || w.formatOf() != 2 {
		t.Errorf("founded anew as %v", w.living()[0].m)
	}
	w.verdict()
}

// TestANodeInstallsNoLevelThatItDoesNotSpeak: the level rises although a member does not speak it, by
// a planted error. That member ends and says why, and the checker notices.
func TestANodeInstallsNoLevelThatItDoesNotSpeak(t *testing.T) {
	w, ns := foundWith(t, 7, defect.Of(defect.FormatUnasked), oldBuild, oldBuild, oldBuild)
	w.start("d", speaks(middleBuild))
	w.until(time.Minute, func() bool { return !ns[0].alive && !ns[1].alive && !ns[2].alive })
	for _, n := range ns {
		if !errors.Is(n.done, format.ErrUnspoken) || n.m.View().Format != 1 {
			t.Errorf("%v has %v and ended with %v", n, n.m.View(), n.done)
		}
		if r, err := record.Decode(w.disks[n.addr]); err != nil || r.Last.Format != 1 {
			t.Errorf("its disk has %v, %v", r, err)
		}
	}
	if len(w.checker.faults) == 0 {
		t.Error("the checker has noticed nothing")
	}
}

// TestAViewWithALowerLevelForks: no node goes back.
func TestAViewWithALowerLevelForks(t *testing.T) {
	_, ns := foundOf(t, 8, middleBuild, middleBuild)
	next := ns[0].m.View().Next(ns[0].m.View().Hash())
	next.Members, next.Format = ns[0].m.View().Members, 1
	ns[0].step(Receive{From: ns[1].uid, FromAddr: ns[1].addr, Msg: message.Commit{View: next}})
	if ns[0].m.View().Format != 2 || ns[0].m.Stats().Forks != 1 {
		t.Errorf("%v, %+v", ns[0].m.View(), ns[0].m.Stats())
	}
}

// TestProbesGainFields: a node ignores what a later build says besides.
func TestProbesGainFields(t *testing.T) {
	later := struct {
		bootstrap.JoinReply
		More string `cbor:"99,keyasint"`
	}{bootstrap.JoinReply{Cluster: 7, Epoch: 3}, "later"}
	b := message.Append(nil, later.JoinReply)
	b = append(b[:2:2], cbor.Records.MustAppend(nil, later)...)
	if m, err := message.Decode(b); err != nil || m.String() != later.JoinReply.String() {
		t.Errorf("%v, %v", m, err)
	}
}

// TestViewsTellChanges: once all speak it, members are told what has changed, and the whole where they
// lack the parent. Before, they are told the whole.
func TestViewsTellChanges(t *testing.T) {
	for _, c := range []struct {
		newest  format.Level
		changes bool
	}{{format.Changes - 1, false}, {format.Changes, true}} {
		build := format.Range{Min: 1, Max: c.newest}
		w, ns := foundOf(t, 3, build, build, build, build)
		told := map[string]int{}
		var late *node // hears of no view
		w.filter = func(_, to *node, m message.Message) bool {
			switch m.(type) {
			case message.Change:
				told["change"]++
			case message.Commit:
				told["whole"]++
			default:
				return true
			}
			return to != late
		}
		joined := w.start("late", speaks(build))
		if !w.until(time.Minute, func() bool { return joined.m.View() != nil && w.converged() }) {
			t.Fatalf("%v: no node joins", build)
		}
		if (told["change"] > 0) != c.changes || told["whole"] == 0 { // which the joiner is told
			t.Errorf("%v: told of the join: %v", build, told)
		}
		if !c.changes {
			continue
		}
		late = ns[3]
		before := ns[0].m.View().Epoch
		w.start("later", speaks(build))
		if !w.until(time.Minute, func() bool { return ns[0].m.View().Epoch > before+1 }) {
			t.Fatal("there are no two views")
		}
		missed := late.m.View().Epoch
		late = nil
		if !w.until(time.Minute, w.converged) || missed != before {
			t.Errorf("a node that was at %v, and missed two views, does not come after", missed)
		}
		w.verdict()
	}
}
