package nextview

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// node is a member of three, as it sees the others.
type node struct {
	cfg     Config
	now     time.Time
	in      *view.Installed
	reports *report.Table
	reach   *downing.Reach
	joiners *joiners.Table
}

func newNode() *node {
	v := &view.View{Format: format.Newest, Cluster: 1, Epoch: 5, LastUp: 3}
	for u, addr := range map[view.UID]string{1: "a", 2: "b", 3: "c"} {
		v.Members = append(v.Members, view.Member{
			UID: u, Addr: addr, Status: view.Up, UpNumber: uint32(u), Formats: format.Build(),
		})
	}
	v.Sort()
	n := &node{
		cfg: Config{
			Self: 1, Strategy: downing.KeepMajority{}, Enough: func([]view.Member) bool { return true },
			Beat: time.Second, StableAfter: 5 * time.Second, Promise: 6 * time.Second,
		},
		now: time.Unix(1000, 0), reports: report.NewTable(1, &report.Own{}),
		reach:   downing.NewReach(4*time.Second, time.Second),
		joiners: joiners.NewTable(joiners.Config{TTL: 4 * time.Second}),
	}
	n.in = view.Install(v, n.now)
	n.reports.Follow(v)
	n.reach.Follow(n.now, 1, n.in.View, func(view.Member) bool { return true })
	return n
}

func (n *node) compose() Plan {
	return Compose(n.cfg, Scene{
		Now: n.now, View: n.in, Settled: n.in.Epoch, Idle: true, Reports: n.reports,
		Verdicts: &downing.Verdicts{}, Reach: n.reach,
		Joiners:   func() []joiners.Joiner { return n.joiners.Asking(n.now) },
		Reachable: func(u view.UID) bool { return u == 1 || n.reach.Hears(u) },
	})
}

// TestSilentMemberIsDropped: when it has been unreachable for StableAfter, and not before.
func TestSilentMemberIsDropped(t *testing.T) {
	n := newNode()
	if p := n.compose(); p.Changed || !p.Due.IsZero() || !p.Admits {
		t.Errorf("all are heard, and none asks to join: %+v", p)
	}
	n.now = n.now.Add(4 * time.Second)
	n.reach.Heard(2, n.now)
	n.reach.Look(n.now, n.in.Members)
	due := n.now.Add(n.cfg.StableAfter)
	if p := n.compose(); p.Changed || p.Due != due {
		t.Errorf("just silent: %+v", p)
	}
	n.now = due
	p := n.compose()
	if !p.Changed || p.Proposal.View.Has(3) || !p.Proposal.View.Has(2) || len(p.WaitFor) != 1 || p.WaitFor[0] != 3 {
		t.Errorf("silent for long: %+v", p)
	}
}

// TestJoinerHasHeardOfTheView: it is let in by the view after the one that it has heard of.
func TestJoinerHasHeardOfTheView(t *testing.T) {
	n := newNode()
	n.now = n.now.Add(n.cfg.Beat)
	ask := func(heard view.Epoch) {
		n.joiners.Remember(n.now, n.in.Epoch, bootstrap.Probe{
			Self:  view.Member{UID: 9, Addr: "j", Status: view.Joining, Formats: format.Build()},
			Heard: heard, First: heard,
		})
	}
	ask(4)
	if p := n.compose(); p.Changed || !p.Admits {
		t.Errorf("it has heard of an earlier view: %+v", p)
	}
	ask(5)
	if p := n.compose(); !p.Changed || !p.Proposal.View.Has(9) {
		t.Errorf("it has heard of this view: %+v", p)
	}
	n.now = n.now.Add(time.Minute)
	if p := n.compose(); p.Proposal.View.Has(9) {
		t.Errorf("it has not asked for long: %+v", p)
	}
}

// TestTheLevelIsWhatAllSpeak: it rises to the lowest of the highest levels, those of joiners included, and
// a joiner that does not speak the level of the view is not let in.
func TestTheLevelIsWhatAllSpeak(t *testing.T) {
	for i, c := range []struct {
		level           format.Level
		members, joiner format.Range
		want            format.Level
		joins           bool
	}{
		{1, format.Range{Min: 1, Max: 1}, format.Range{Min: 1, Max: 2}, 1, true},
		{1, format.Range{Min: 1, Max: 3}, format.Range{Min: 1, Max: 2}, 2, true},
		{1, format.Range{Min: 1, Max: 3}, format.Range{Min: 2, Max: 9}, 3, false},
		{2, format.Range{Min: 1, Max: 2}, format.Range{Min: 1, Max: 1}, 2, false},
		{2, format.Range{Min: 1, Max: 4}, format.Range{Min: 2, Max: 3}, 3, true},
	} {
		n := newNode()
		v := *n.in.View
		v.Format, v.Members = c.level, slices.Clone(v.Members)
		for i := range v.Members {
			v.Members[i].Formats = c.members
		}
		n.in = view.Install(&v, n.now)
		n.now = n.now.Add(n.cfg.Beat)
		n.joiners.Remember(n.now, 5, bootstrap.Probe{
			Self:  view.Member{UID: 9, Addr: "j", Status: view.Joining, Formats: c.joiner},
			Heard: 5, First: 5,
		})
		p := n.compose()
		next := p.Proposal.View
		if next.Format != c.want || next.Has(9) != c.joins || p.Changed != (c.joins || c.want != c.level) {
			t.Errorf("case %d: level %d, joins %t: %+v", i+1, next.Format, next.Has(9), p)
		}
	}
}

// TestRepeatChangesNothing but the epoch.
func TestRepeatChangesNothing(t *testing.T) {
	n := newNode()
	v := Repeat(Scene{View: n.in, Settled: 5}).View
	if v.Epoch != 6 || v.Parent != n.in.Digest || len(v.Members) != 3 {
		t.Errorf("%v", v)
	}
}
