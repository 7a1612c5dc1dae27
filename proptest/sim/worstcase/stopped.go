package worstcase

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/network"
)

// stoppedGrowth plays, again and again, the worst case of a stop: as soon as joiners have the
// data, only a bare majority of the old voters hears of any more, but the view in which the joiners
// vote is decided and installed; at about that moment everything stops. The processes that know
// nothing come back first, and are a majority of the last view.
type stoppedGrowth struct{ Stage }

// StoppedGrowing plays views that grow, with a stop of everything at the moment when they commit.
func StoppedGrowing(s Stage) { s.After(6*time.Second, stoppedGrowth{s}.once) }

func (g stoppedGrowth) once() {
	if g.Healed() {
		return
	}
	knowing, joiners := g.knowing(), map[int]bool{}
	for i := range g.Slots() {
		if !g.Runs(i) && len(joiners) < 4 {
			joiners[i] = true
			g.Start(i)
		}
	}
	g.Note("CHAOS %d know, %d join", len(knowing), len(joiners))
	deaf, stopping := false, false
	g.OnInstall(func(v *view.View) {
		switch {
		case len(v.Learners()) > 0 && !deaf:
			deaf = true
			g.After(g.moment(), func() { g.deafen(knowing, joiners) })
		case deaf && len(v.Learners()) == 0 && !stopping:
			stopping = true
			g.After(g.moment(), func() { g.stopAll(knowing) })
		}
	})
	g.After(g.between(30*time.Second, 40*time.Second), func() {
		g.OnInstall(nil)
		g.Net.LoseBy(nil)
		if !g.Healed() {
			g.thinOut()
			g.After(20*time.Second, g.once)
		}
	})
}

// knowing draws a bare majority of the voters, as slots.
func (s Stage) knowing() map[int]bool {
	know := map[int]bool{}
	newest := s.Newest()
	if newest == nil {
		return know
	}
	vs := newest.Voters()
	for _, i := range s.Rng.Perm(len(vs))[:len(vs)/2+1] {
		know[s.SlotOf(vs[i].UID)] = true
	}
	return know
}

// deafen keeps data from the processes that must not know, and for a while the joiners from saying
// that they have caught up.
func (g stoppedGrowth) deafen(knowing, joiners map[int]bool) {
	until := g.Now() + int64(g.moment())
	g.Net.LoseBy(func(from, to int, pk *network.Packet) bool {
		switch pk.To {
		case network.ToReplica:
			return knowing[from] != knowing[to]
		case network.ToMember:
			return joiners[from] && g.Now() < until
		}
		return false
	})
}

// stopAll stops everything. The processes that know come back after the others may have gone on
// without them, or with them.
func (g stoppedGrowth) stopAll(knowing map[int]bool) {
	g.OnInstall(nil)
	g.Net.LoseBy(nil)
	if g.Healed() {
		return
	}
	for i := range g.Slots() {
		if !g.Runs(i) {
			continue
		}
		g.Crash(i)
		wait := g.between(0, 2*time.Second)
		if knowing[i] && g.Rng.IntN(4) > 0 {
			wait = g.between(10*time.Second, 20*time.Second)
		}
		g.After(wait, func() { g.Restart(i) })
	}
}
