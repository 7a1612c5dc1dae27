package paxos

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

func majorityOf(n int) Quorum {
	return func(has func(view.UID) bool) bool {
		count := 0
		for u := range view.UID(n) {
			if has(u + 1) {
				count++
			}
		}
		return 2*count > n
	}
}

// TestOneValueIsDecided plays random ballots of all voters, with lost messages, and looks for two
// values that a quorum accepted. Some voters refuse some values.
func TestOneValueIsDecided(t *testing.T) {
	const n = 5
	decisions, refused := 0, 0
	refuses := func(u view.UID, x *Proposal) bool { return x.View.LastUp>>(2*u)&3 == 0 }
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		now, quorum := time.Unix(1000, 0), majorityOf(n)
		acceptors := make([]Acceptor, n)
		proposers := make([]*Proposer, n)
		for i := range proposers {
			proposers[i] = NewProposer(Config{Self: view.UID(i + 1), Beat: time.Second, WaitMax: time.Minute}, r)
		}
		var decided *Proposal
		for range 60 {
			p := proposers[r.IntN(n)]
			arrives := func() bool { return r.IntN(3) > 0 }
			switch {
			case p.Idle():
				p.Start(now, acceptors[p.cfg.Self-1].Promised())
				for i := range acceptors {
					a := &acceptors[i]
					if !arrives() || a.Outbids(p.Ballot()) {
						continue
					}
					a.Promise(p.Ballot())
					value, at := a.Accepted()
					p.TakePrepared(now, view.UID(i+1), Prepared{AcceptedBallot: at, Accepted: value})
				}
			case p.Preparing():
				value, ok := p.Choose(quorum, refuses)
				if !ok {
					refused++
					p.GiveUp(now)
					break
				}
				if value == nil {
					value = &Proposal{View: &view.View{LastUp: r.Uint32()}}
				}
				p.Propose(now, value)
			default:
				for i := range acceptors {
					a := &acceptors[i]
					if !arrives() {
						continue
					}
					if a.Outbids(p.Ballot()) {
						p.TakeRejected(now, a.Promised(), 0)
						break
					}
					if refuses(view.UID(i+1), p.Value()) {
						continue
					}
					a.Promise(p.Ballot())
					a.Accept(now, p.Ballot(), p.Value())
					if p.TakeAccepted(view.UID(i+1), quorum) {
						decisions++
						if decided != nil && decided != p.Value() {
							t.Fatalf("seed %d: %v and %v were decided", seed, decided, p.Value())
						}
						decided = p.Value()
					}
				}
				p.GiveUp(now)
			}
		}
	}
	if decisions < 300 || refused < 300 {
		t.Errorf("%d decisions, %d times nothing to decide", decisions, refused)
	}
}

// TestARefusedValueIsLeftOut: what one voter has accepted and the others refuse is left out, by the
// answers of a quorum without it. It is not while every quorum has that voter, or the others may accept
// it. The arbiter refuses what its carrier does.
func TestARefusedValueIsLeftOut(t *testing.T) {
	const arbiter = view.UID(9)
	now, value := time.Unix(1000, 0), &Proposal{View: &view.View{}}
	quorum := func(has func(view.UID) bool) bool { // all three, or the arbiter and one of them
		one, all := has(1) || has(2) || has(3), has(1) && has(2) && has(3)
		return all || one && has(arbiter)
	}
	for _, x := range []struct {
		name    string
		carrier view.UID // 0 = the arbiter has not answered
		refuse  bool
		value   *Proposal
		ok      bool
	}{
		{"all have answered", 0, true, nil, false},
		{"carried by one that refuses", 2, true, nil, true},
		{"carried by the one that has accepted", 1, true, value, true},
		{"none refuses", 2, false, value, true},
	} {
		c := Config{Self: 2, Arbiter: arbiter, Beat: time.Second, WaitMax: time.Minute}
		p := NewProposer(c, rand.New(rand.NewPCG(1, 1)))
		p.Start(now, Ballot{Round: 7})
		for u := view.UID(1); u <= 3; u++ {
			a := Prepared{Arbiter: u == x.carrier}
			if u == 1 {
				a.Accepted, a.AcceptedBallot = value, Ballot{Round: 5, UID: 1}
			}
			p.TakePrepared(now, u, a)
		}
		got, ok := p.Choose(quorum, func(u view.UID, _ *Proposal) bool { return x.refuse && u != 1 })
		if got != x.value || ok != x.ok {
			t.Errorf("%s: %v, %t", x.name, got, ok)
		}
	}
}

// TestFreeAt: the promises of voters that would be dropped do not count.
func TestFreeAt(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewProposer(Config{Self: 1, Beat: time.Second, WaitMax: 10 * time.Second}, rand.New(rand.NewPCG(1, 1)))
	p.Start(now, Ballot{})
	for u, wait := range []time.Duration{0, time.Second, time.Hour} {
		p.TakePrepared(now, view.UID(u+1), Prepared{Wait: wait})
	}
	if at, ok := p.FreeAt(now, []view.UID{9}, majorityOf(3)); !ok || at != now.Add(time.Second) {
		t.Error("free at", at, ok)
	}
	if at, ok := p.FreeAt(now, []view.UID{2}, majorityOf(3)); !ok || at != now.Add(10*time.Second) {
		t.Error("free at", at, ok)
	}
	if _, ok := p.FreeAt(now, []view.UID{1, 2}, majorityOf(3)); ok {
		t.Error("one of three decides")
	}
}

// TestHeldIsTriedOnce: what waits for the disk comes back once, and the newest takes its place.
func TestHeldIsTriedOnce(t *testing.T) {
	var a Acceptor
	a.Hold(Held{From: 1})
	a.Hold(Held{From: 2})
	if h, ok := a.Release(); !ok || h.From != 2 || a.Holds() {
		t.Error("released", h, ok)
	}
	if _, ok := a.Release(); ok {
		t.Error("released twice")
	}
}

// TestBindLowersNoPromise: an acceptor takes over a higher promise only.
func TestBindLowersNoPromise(t *testing.T) {
	var a Acceptor
	a.Promise(Ballot{Round: 5, UID: 1})
	if a.Bind(Ballot{Round: 3, UID: 2}); !a.Outbids(Ballot{Round: 4, UID: 2}) {
		t.Errorf("promised %v", a.Promised())
	}
	if a.Bind(Ballot{Round: 7, UID: 2}); !a.Outbids(Ballot{Round: 6, UID: 2}) {
		t.Errorf("promised %v", a.Promised())
	}
}

// A ballot that was refused for a higher one is followed by one above that, whatever this node
// itself has promised.
func TestARefusedBallotIsOutbid(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewProposer(Config{Self: 2, Beat: time.Second, WaitMax: time.Minute}, rand.New(rand.NewPCG(1, 1)))
	first := p.Start(now, Ballot{})
	p.TakeRejected(now, Ballot{Round: 7, UID: 3}, 0)
	if !p.Idle() || !p.RetryAt().After(now) {
		t.Fatalf("%v, tried again at %v", p, p.RetryAt())
	}
	if next := p.Start(p.RetryAt(), first); !(Ballot{Round: 7, UID: 3}).Less(next) || p.Round() != next.Round {
		t.Errorf("the next ballot is %v", next)
	}
}
