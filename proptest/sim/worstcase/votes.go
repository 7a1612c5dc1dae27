package worstcase

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// The second byte of a message tells its kind.
var (
	grantKind  = message.Append(nil, message.Grant{})[1]
	ballotKind = map[byte]bool{
		message.Append(nil, message.Prepare{})[1]:  true,
		message.Append(nil, message.Prepared{})[1]: true,
		message.Append(nil, message.Accept{})[1]:   true,
		message.Append(nil, message.Accepted{})[1]: true,
		message.Append(nil, message.Rejected{})[1]: true,
	}
)

// votesNodes are the nodes of a world in which Votes plays, all voters, and votesJoiners the free
// slots that it needs.
const (
	votesNodes   = 3
	votesJoiners = 3
)

// votes plays with three voters. Most cases end with the second oldest as the oldest of a view in
// which the oldest is no member, while that one runs on and knows nothing of it.
type votes struct {
	Stage
	first, second, third int
	joiners              map[int]bool
}

// Votes plays the worst cases of votes and leases, one after the other, each in a world that is well.
// Where an operator alone drops members, the script chooses the moment of that.
func Votes(s Stage) {
	var next func()
	next = func() {
		s.open()
		if s.Healed() {
			return
		}
		g, ok := s.cast()
		if !ok {
			s.leaveOne()
			s.After(time.Second, next)
			return
		}
		play := random.Pick(s.Rng, votes.growIsland, votes.growByOldest, votes.lateGrants)
		if s.Drops() {
			play = votes.betweenTwo
		}
		s.After(play(g), next)
	}
	s.After(8*time.Second, next)
}

// cast finds the voters by age, and the slots for joiners.
func (s Stage) cast() (g votes, ok bool) {
	first, second, ok := s.TwoOldest()
	if !ok || !s.Well() {
		return votes{}, false
	}
	v := s.View(first)
	if len(v.Members) != votesNodes {
		return votes{}, false
	}
	g = votes{Stage: s, first: first, second: second, third: s.SlotOf(v.Voters()[2].UID), joiners: map[int]bool{}}
	for i := range s.Slots() {
		if !s.Runs(i) && len(g.joiners) < votesJoiners {
			g.joiners[i] = true
		}
	}
	return g, len(g.joiners) == votesJoiners
}

// leaveOne has one node too many leave.
func (s Stage) leaveOne() {
	v := s.Newest()
	if v == nil || len(v.Members) <= votesNodes || !s.Well() {
		return
	}
	if i := s.SlotOf(v.Members[s.Rng.IntN(len(v.Members))].UID); s.Runs(i) {
		s.Leave(i)
	}
}

// island reports whether a slot belongs to the second oldest and the joiners.
func (g votes) island(slot int) bool { return slot != g.first && slot != g.third }

// seal cuts the island off, and has an operator drop the oldest there.
func (g votes) seal() {
	g.Note("CHAOS the island around n%d is cut off", g.second)
	g.Net.LoseBy(nil)
	g.Net.Cut(func(a, b int) bool { return g.island(a) != g.island(b) })
	g.Down(g.first, g.second)
}

// grow starts the joiners. Those that are in the view are heard again when all are, and have had the
// time to catch up, so that they come up in one view. Just before that the script is told. When the
// second oldest has installed the view, the island is sealed. lose says what gets lost until then.
func (g votes) grow(told func(), lose func(from, to int, pk *network.Packet) bool) time.Duration {
	heard, sealed := false, false
	g.Net.LoseBy(func(from, to int, pk *network.Packet) bool {
		if pk.To != network.ToMember {
			return false
		}
		if v := g.View(g.second); g.joiners[from] && !heard && v != nil && g.isIn(v, from) {
			return true
		}
		return lose(from, to, pk)
	})
	for i := range g.joiners { // order: each is started by itself, and later
		g.After(time.Duration(i)*time.Millisecond, func() { g.Start(i) })
	}
	g.OnInstall(func(v *view.View) {
		switch {
		case sealed || len(v.Members) < votesNodes+votesJoiners:
		case len(v.Learners()) == 0 && g.View(g.second) == v:
			sealed = true
			g.seal()
		case !heard && len(v.Learners()) == votesJoiners && g.View(g.second) == v:
			g.After(g.between(time.Second, 2*time.Second), func() {
				heard = true
				told()
			})
		}
	})
	return 45 * time.Second
}

// isIn reports whether the process on a slot is a member.
func (g votes) isIn(v *view.View, slot int) bool {
	for _, m := range v.Members {
		if g.SlotOf(m.UID) == slot {
			return true
		}
	}
	return false
}

// growIsland: the second oldest does not hear the oldest, and takes in joiners that only it hears.
// The third accepts the view in which they vote, and does not learn that it was decided. It must have
// stopped granting then (G2), and the island must wait on installing (G3).
func (g votes) growIsland() time.Duration {
	g.Note("CHAOS n%d grows an island, n%d accepts, n%d knows nothing", g.second, g.third, g.first)
	return g.grow(func() {}, func(from, to int, _ *network.Packet) bool {
		apart := g.island(from) != g.island(to)
		return apart && (from == g.first || to == g.first || g.joiners[from] || g.joiners[to])
	})
}

// growByOldest: as growIsland, but the acceptance of the oldest itself decides the view. The third
// accepts nothing and goes on granting. The oldest must have bounded its own vote (V1).
func (g votes) growByOldest() time.Duration {
	g.Note("CHAOS n%d grows an island, n%d accepts and knows nothing", g.second, g.first)
	last := false
	return g.grow(func() { last = true }, func(from, to int, pk *network.Packet) bool {
		ballot := len(pk.Payload) > 1 && ballotKind[pk.Payload[1]]
		switch {
		case !g.island(from) && !g.island(to):
			return ballot && last // the oldest does not finish it with the third
		case g.island(from) == g.island(to):
			return false
		case from == g.first || to == g.first:
			return !ballot || !last || g.joiners[from] || g.joiners[to]
		}
		return g.joiners[from] || g.joiners[to] || ballot && last
	})
}

// lateGrants: what the others answer to the oldest comes seconds after it has asked, and then they do
// not hear it any more. A lease must count from when its holder asked for it.
func (g votes) lateGrants() time.Duration {
	late := g.between(time.Second, 5*time.Second)
	g.Note("CHAOS n%d is answered late, by %v", g.first, late)
	g.Net.SlowBy([]network.SlowLink{{From: -1, To: g.first, Grants: int64(late)}})
	g.After(g.between(3*time.Second, 6*time.Second), func() {
		if g.Healed() {
			return
		}
		g.Net.Cut(func(a, _ int) bool { return a == g.first })
		g.Net.LoseBy(func(_, to int, pk *network.Packet) bool {
			return to == g.first && pk.To == network.ToMember && len(pk.Payload) > 1 && pk.Payload[1] != grantKind
		})
		g.Down(g.first, g.second)
	})
	return 25 * time.Second
}

// goesOnWithin bounds the time until a cluster drops one of two voters that do not hear each other.
const goesOnWithin = 30 * time.Second

// betweenTwo: the third node hears both others, and they do not hear each other. Either of them may be
// removed. The third, which refuses that as long as it has promised it something, must not promise it
// more (V2), or the cluster would never go on.
func (g votes) betweenTwo() time.Duration {
	g.Note("CHAOS n%d stands between n%d and n%d", g.third, g.first, g.second)
	epoch := g.View(g.first).Epoch
	g.Net.Cut(func(a, b int) bool { return a != g.third && b != g.third })
	g.After(goesOnWithin, func() {
		if v := g.View(g.third); !g.Healed() && (v == nil || v.Epoch == epoch) {
			g.Violate("goes on", "n%d and n%d have not heard each other for %v: n%d has %v", g.first, g.second,
				goesOnWithin, g.third, v)
		}
	})
	return goesOnWithin + time.Second
}
