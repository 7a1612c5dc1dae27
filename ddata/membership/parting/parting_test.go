package parting

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestPartingWaitsForAnswers: a node that parts tells the others until they know its view and that
// it has stopped, and waits for one that is silent for one and a half heartbeats.
func TestPartingWaitsForAnswers(t *testing.T) {
	const beat = time.Second
	now := time.Unix(1000, 0)
	v := &view.View{Epoch: 5, Members: []view.Member{{UID: 1}, {UID: 2, Addr: "b"}, {UID: 3, Addr: "c"}}}
	s := Scene{
		Now: now, View: view.Install(v, now), Debts: &Debts{}, Reports: report.NewTable(1, &report.Own{}),
		Reach: downing.NewReach(4*beat, beat),
	}
	s.Reports.Follow(v)
	s.Reach.Follow(now, 1, s.View.View, func(view.Member) bool { return true })
	p := New(Config{Self: 1, Beat: beat, Most: 4 * beat})
	if r := p.Advance(s); !r.Waits || len(r.Words) != 2 || r.Words[0].View != v || !r.Words[0].Beat || !p.Begun() {
		t.Errorf("the first round: %+v", r)
	}
	s.Reports.Learn(2, 5, true)
	if r := p.Advance(s); !r.Waits || len(r.Words) != 0 {
		t.Errorf("told again at once: %+v", r)
	}
	s.Now = now.Add(beat)
	if r := p.Advance(s); !r.Waits || len(r.Words) != 1 || r.Words[0].To != 3 {
		t.Errorf("the second round: %+v", r)
	}
	s.Now = now.Add(beat * 3 / 2)
	if r := p.Advance(s); r.Waits {
		t.Errorf("waits for a silent node: %+v", r)
	}
}

// TestDebtsEndWithTheAnswer: what a node owes to another ends when that one knows the view.
func TestDebtsEndWithTheAnswer(t *testing.T) {
	now := time.Unix(1000, 0)
	v := &view.View{Epoch: 5, Members: []view.Member{{UID: 1}, {UID: 2}, {UID: 3}}}
	next := &view.View{Epoch: 6, Members: v.Members[:2]}
	in, reach, d := view.Install(v, now), downing.NewReach(4*time.Second, time.Second), Debts{}
	reach.Follow(now, 1, in.View, func(view.Member) bool { return true })
	d.Decide(1, in, next, reach)
	if d.Empty() || d.Learn(3, 5) || !d.Learn(3, 6) || !d.Empty() {
		t.Error("the member that was dropped, and it alone, has to hear of it")
	}
	d.Decide(1, in, next, reach)
	if d.Forget(now.Add(time.Minute), time.Second); !d.Empty() {
		t.Error("a silent node is not forgotten")
	}
}
