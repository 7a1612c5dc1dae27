package nodelease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

const length = 6 * time.Second

// of returns a scene of n voters, of which a majority is a quorum. The first is this node.
func of(n int) Scene {
	s := Scene{Now: time.Unix(1000, 0), Epoch: 4, May: true}
	for i := range n {
		s.Voters = append(s.Voters, view.Member{UID: view.UID(i + 1)})
	}
	s.Quorum = func(has func(view.UID) bool) bool {
		count := 0
		for _, v := range s.Voters {
			if has(v.UID) {
				count++
			}
		}
		return 2*count > n
	}
	return s
}

func holder() *Holder {
	return NewHolder(Config{Self: 1, Arbiter: 0, Duration: length, Beat: time.Second})
}

// take hands over a grant of a heartbeat that was sent so long ago.
func take(h *Holder, s Scene, from view.UID, ago time.Duration) bool {
	sent := s.Now.Add(-ago)
	return h.Take(s, from, sent, sent.UnixNano(), false)
}

// TestHolder follows a lease from the first grant to its end.
func TestHolder(t *testing.T) {
	h, s := holder(), of(3)
	if c := h.Renew(s); c != (Change{}) || h.Held() {
		t.Error("held without a grant")
	}
	if !take(h, s, 2, time.Second) {
		t.Error("the first grant is not counted")
	}
	if c := h.Renew(s); !c.Regained || h.Lease().Until() != s.Now.Add(length-time.Second) {
		t.Error("regained", c, h.Lease().Until())
	}
	s.Frozen = s.Now.Add(-2 * time.Second) // V1
	if h.Renew(s); h.Lease().Until() != s.Now.Add(length-2*time.Second) {
		t.Error("the own vote outlasts the freeze:", h.Lease().Until())
	}
	s.Frozen = time.Time{}
	h.Renew(s)
	h.Install(s.Now)
	s.Epoch++
	if h.Renew(s); !h.Held() || h.Votes().Holds(s.Now) || h.HasGrant(2, s.Now) {
		t.Error("the lease of the older epoch is not used up, or its grants count on")
	}
	if err := h.Check(s); err != nil {
		t.Error(err)
	}
	s.Now = s.Now.Add(length)
	if c := h.Renew(s); !c.Lost || c.Suspended || h.Held() {
		t.Error("not lost", c)
	}
	take(h, s, 3, 0)
	h.Renew(s)
	h.Suspend()
	if c := h.Renew(s); !c.Lost || !c.Suspended {
		t.Error("a suspend is not told", c)
	}
	s.May = false
	take(h, s, 3, 0)
	if h.Renew(s); h.Held() || !h.Votes().Holds(s.Now) {
		t.Error("a node that may hold none holds a lease")
	}
}

// TestAloneWithoutEnd: the own vote of the only voter has no end.
func TestAloneWithoutEnd(t *testing.T) {
	h, s := holder(), of(1)
	if h.Renew(s); !h.Lease().Forever() {
		t.Error(h.Lease())
	}
	h.Install(s.Now)
	s = of(3)
	if h.Renew(s); h.Lease().Forever() || h.Lease().Until() != s.Now.Add(length) {
		t.Error("carried without end", h.Lease())
	}
}

// TestWhatIsNotCountedProlongsNothing: a grant of which Take says that it does not count changes
// nothing when all are counted.
func TestWhatIsNotCountedProlongsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	skipped := 0
	for range 200 {
		h, s := holder(), of(7)
		for range 40 {
			s.Now = s.Now.Add(time.Duration(r.IntN(400)) * time.Millisecond)
			h.Renew(s)
			before := h.Lease()
			counts := take(h, s, view.UID(2+r.IntN(6)), time.Duration(r.IntN(3000))*time.Millisecond)
			h.Renew(s)
			if !counts && h.Lease() != before {
				t.Fatalf("%v became %v", before, h.Lease())
			}
			if !counts {
				skipped++
			}
		}
	}
	if skipped < 1000 {
		t.Errorf("only %d grants were not counted", skipped)
	}
}

// TestVotesAreCountedWhenTheyMayDiffer: a holder that counts the votes only when something can have changed
// them has the lease of one that always does, also where wall time was set meanwhile.
func TestVotesAreCountedWhenTheyMayDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	kept := 0
	for range 300 {
		s := of(1 + r.IntN(7))
		cfg, of := Config{Self: 1, Arbiter: downing.Arbiter, Duration: length, Beat: time.Second}, s.Quorum
		s.Quorum = func(has func(view.UID) bool) bool { return of(has) || has(1) && has(downing.Arbiter) }
		h, always := NewHolder(cfg), NewHolder(cfg)
		both := []*Holder{h, always}
		for range 60 {
			s.Now = s.Now.Add(time.Duration(r.IntN(800)) * time.Millisecond)
			from, ago := view.UID(2+r.IntN(6)), time.Duration(r.IntN(3000))*time.Millisecond
			wall := int64(0) // how much of the sender's reading was wrong
			if r.IntN(4) == 0 {
				wall = int64(r.IntN(10_000)-5000) * int64(time.Millisecond)
			}
			arbiter := r.IntN(8) == 0
			what := r.IntN(20)
			switch what {
			case 0:
				s.Epoch++
			case 1:
				s.Frozen = s.Now.Add(-ago)
			case 2:
				s.Frozen = time.Time{}
			case 3:
				s.Speaks = !s.Speaks
			case 4:
				s.May = !s.May
			}
			for _, x := range both {
				switch what {
				case 0:
					x.Install(s.Now)
				case 5:
					x.LoseArbiter()
				case 6:
					x.Suspend()
				case 7, 8, 9, 10:
				default:
					sent := s.Now.Add(-ago)
					taken := s
					if what > 14 { // it is frozen until the votes are counted
						taken.Frozen = s.Now.Add(-length)
					}
					x.Take(taken, from, sent, sent.UnixNano()+wall, arbiter)
				}
			}
			if h.counted {
				kept++
			}
			always.counted = false
			got, want := h.Renew(s), always.Renew(s)
			if got != want || h.Lease() != always.Lease() || h.Votes() != always.Votes() {
				t.Fatalf("after %d: %+v by %+v, and %+v by %+v when all are counted", what,
					got, h.Votes(), want, always.Votes())
			}
		}
	}
	if kept < 3000 {
		t.Errorf("only %d times was nothing counted", kept)
	}
}

// TestALostArbiterGrantsNothing: what this node has granted itself in the arbiter's name ends with the arbiter's word.
func TestALostArbiterGrantsNothing(t *testing.T) {
	h, s := holder(), of(3)
	s.Quorum = func(has func(view.UID) bool) bool { return has(1) && has(0) }
	s.Speaks = true
	if h.Renew(s); !h.Held() {
		t.Fatal("the arbiter's mouth holds no lease")
	}
	h.LoseArbiter()
	s.Speaks = false
	if c := h.Renew(s); h.Held() || !c.Lost {
		t.Error("the lease goes on without the arbiter's word", c)
	}
}

// TestPromises: they outlive an epoch, and what is held back does not.
func TestPromises(t *testing.T) {
	now := time.Unix(1000, 0)
	p := new(Promises)
	p.Make(2, now.Add(5*time.Second))
	p.Make(2, now.Add(time.Second))
	p.Make(3, now.Add(time.Second))
	p.HoldBack(2, now.Add(time.Second))
	if p.Until(2) != now.Add(5*time.Second) || !p.HoldsBack(2, now) || p.HoldsBack(2, now.Add(time.Second)) {
		t.Error("a promise was shortened, or is not held back")
	}
	p.Follow(&view.View{Members: []view.Member{{UID: 2}}})
	if p.Until(2) != now.Add(5*time.Second) || !p.Until(3).IsZero() || p.HoldsBack(2, now) {
		t.Error("after an epoch")
	}
	v := &view.View{Members: []view.Member{{UID: 2}}}
	if p.Check(v, now) == nil || p.Check(v, now.Add(time.Minute)) != nil {
		t.Error("a promise beyond L is not noticed")
	}
}

// TestTheArbitersGrantEnds: what was granted in the arbiter's name counts no more after a suspend,
// and under a later view, whether this node has granted it or another.
func TestTheArbitersGrantEnds(t *testing.T) {
	for _, own := range []bool{true, false} {
		h, s := holder(), of(2)
		s.Quorum = func(has func(view.UID) bool) bool { return has(1) && has(0) }
		grant := func() {
			t.Helper()
			if s.Speaks = own; !own && !h.Take(s, 2, s.Now, s.Now.UnixNano(), true) {
				t.Error("the arbiter's grant is not counted")
			}
			h.Renew(s)
			if s.Speaks = false; !h.Held() {
				t.Fatal("the arbiter's grant gives no lease")
			}
		}
		grant()
		h.Suspend()
		if h.Renew(s); h.Held() {
			t.Errorf("it counts after a suspend, own: %v", own)
		}
		grant()
		h.Install(s.Now)
		s.Epoch++
		if h.Renew(s); h.Votes().Holds(s.Now) {
			t.Errorf("it counts under a later view, own: %v", own)
		}
	}
}

// A newer grant in the arbiter's name is counted at once: the lease may rest on it alone.
func TestTheArbitersGrantProlongs(t *testing.T) {
	h, s := holder(), of(3)
	s.Quorum = func(has func(view.UID) bool) bool { return has(1) && has(0) }
	take(h, s, 2, 0)
	h.Take(s, 2, s.Now, s.Now.UnixNano(), true)
	if h.Renew(s); !h.Held() {
		t.Fatal("the arbiter's grant gives no lease")
	}
	sent := s.Now.Add(time.Second)
	s.Now = sent
	take(h, s, 2, 0) // its own grant is as new, and gives nothing
	if !h.Take(s, 2, sent, sent.UnixNano(), true) {
		t.Error("the arbiter's newer grant is not counted")
	}
	if h.Take(s, 2, sent, sent.UnixNano(), true) {
		t.Error("the same grant is counted again")
	}
	if h.Renew(s); h.Lease().Until() != sent.Add(length) {
		t.Errorf("the lease ends at %v", h.Lease().Until())
	}
}
