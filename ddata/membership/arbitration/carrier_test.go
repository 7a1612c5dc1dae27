package arbitration

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

func twoVoters(now time.Time) (*Carrier, Scene) {
	v := &view.View{Cluster: 1, Epoch: 5, LastUp: 2, Members: []view.Member{
		{UID: 1, Addr: "a", Status: view.Up, UpNumber: 1}, {UID: 2, Addr: "b", Status: view.Up, UpNumber: 2},
	}}
	s := Scene{
		Now: now, View: view.Install(v, now), Reports: report.NewTable(1, &report.Own{}), Verdicts: &downing.Verdicts{},
		Reach: downing.NewReach(4*time.Second, time.Second), Reachable: func(view.UID) bool { return true },
	}
	s.Reports.Follow(v)
	return New(Config{
		Self: 1, Strategy: downing.LeaseMajority{}, Beat: time.Second, Promise: 6 * time.Second,
		SelfDownAfter: 20 * time.Second,
	}), s
}

// TestArbiterSpeaksWhenSaved: what the arbiter promises is said when it is saved, and what it
// accepts is decided then. One save is out at a time.
func TestArbiterSpeaksWhenSaved(t *testing.T) {
	now := time.Unix(1000, 0)
	c, s := twoVoters(now)
	c.Advance(s)
	if out := c.Output(); len(out.Ops) != 1 || out.Ops[0].Do != Acquire {
		t.Fatalf("the oldest does not try for the lease: %+v", out)
	}
	r, ok := c.Acquired(s, nil, now.Add(time.Hour))
	if !ok || !c.Bound(r, 5) || !c.Speaks(now, s.View) {
		t.Fatal("it does not speak for the arbiter")
	}
	if got := c.Wait(now, s.View); got != 6*time.Second {
		t.Errorf("a new holder waits for %v", got)
	}
	c.Output()
	b := paxos.Ballot{Round: 1, UID: 2}
	c.Promise(now, s.View, Promise{Cluster: 1, Epoch: 5, Ballot: b})
	next := s.View.Next(s.View.Digest)
	next.Members = s.View.Members
	c.Accept(now, s.View, 5, b, next)
	if out := c.Output(); len(out.Ops) != 1 || out.Ops[0].Do != Save {
		t.Errorf("two saves are out: %+v", out)
	}
	if decided, p := c.Saved(s, ""); decided != nil || p != nil {
		t.Errorf("said before the last state was saved: %v, %v", decided, p)
	}
	if decided, p := c.Saved(s, ""); decided != next || p != nil {
		t.Errorf("what was accepted is decided: %v, %v", decided, p)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// TestFailureOfTheStoreIsToldOnce, and the lease is given back.
func TestFailureOfTheStoreIsToldOnce(t *testing.T) {
	c, s := twoVoters(time.Unix(1000, 0))
	c.Denied(s.Now, "down")
	if out := c.Output(); out.Failing != "acquire: down" {
		t.Errorf("told %q", out.Failing)
	}
	c.Denied(s.Now, "down")
	if out := c.Output(); out.Failing != "" {
		t.Errorf("told again: %q", out.Failing)
	}
	if _, ok := c.Acquired(s, []byte("no record"), s.Now); ok || c.Output().Ops[0].Do != Release {
		t.Error("a record that cannot be read is taken")
	}
}

// TestTheSmallerSideYields: it gives the lease back, and leaves it to the larger side for a while,
// even if it is the larger one again meanwhile.
func TestTheSmallerSideYields(t *testing.T) {
	c, s := twoVoters(time.Unix(1000, 0))
	v := *s.View.View
	v.Members = append(v.Members[:2:2], view.Member{UID: 3, Addr: "c", Status: view.Up, UpNumber: 3})
	v.LastUp, s.View = 3, view.Install(&v, s.Now)
	s.Reports.Follow(&v)
	c.Advance(s)
	if _, ok := c.Acquired(s, nil, s.Now.Add(time.Hour)); !ok {
		t.Fatal("not acquired")
	}
	c.Output()
	all := s.Reachable
	s.Reachable = func(u view.UID) bool { return u == 1 }
	c.Advance(s)
	out := c.Output()
	if len(out.Ops) != 1 || out.Ops[0].Do != Release || out.Given == "" || !out.Due.Equal(s.Now.Add(2*time.Second)) {
		t.Fatalf("it does not yield for two beats: %+v", out)
	}
	s.Reachable, s.Now = all, s.Now.Add(2*time.Second-1)
	if c.Advance(s); len(c.Output().Ops) > 0 {
		t.Error("it tries again before the larger side could")
	}
	s.Now = s.Now.Add(1)
	if c.Advance(s); len(c.Output().Ops) != 1 {
		t.Error("it does not try again")
	}
}

// TestANodeThatIsBehindLeavesTheLease: the arbiter has taken part in a view that this node does not
// know. The node gives the lease back, and does not try again before it has that view.
func TestANodeThatIsBehindLeavesTheLease(t *testing.T) {
	c, s := twoVoters(time.Unix(1000, 0))
	c.Advance(s)
	c.Output()
	r, ok := c.Acquired(s, nil, s.Now.Add(time.Hour))
	if r.Epoch = 7; !ok || c.Bound(r, 5) {
		t.Fatal("it carries the record of a later epoch")
	}
	if out := c.Output(); len(out.Ops) != 1 || out.Ops[0].Do != Release {
		t.Fatalf("the lease is not given back: %+v", out)
	}
	for range 3 {
		s.Now = s.Now.Add(time.Minute)
		if c.Advance(s); len(c.Output().Ops) > 0 {
			t.Fatal("it tries again without the view")
		}
	}
	v := *s.View.View
	v.Epoch, s.View = 7, view.Install(&v, s.Now)
	c.Advance(s)
	if out := c.Output(); len(out.Ops) != 1 || out.Ops[0].Do != Acquire {
		t.Errorf("it does not try with the view: %+v", out)
	}
}
