package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// stoppedGrowth plays, again and again, the worst case of a stop: as soon as joiners have the
// data, only a bare majority of the old voters hears of any more, but the view in which the joiners
// vote is decided and installed; at about that moment everything stops. The processes that know
// nothing come back first, and are a majority of the last view.
type stoppedGrowth struct{ c *chaos }

func playStoppedGrowing(c *chaos) { c.w.after(6*time.Second, nil, stoppedGrowth{c}.once) }

func (g stoppedGrowth) once() {
	c, w := g.c, g.c.w
	if w.healed {
		return
	}
	knowing, joiners := g.knowing(), map[int]bool{}
	for _, s := range w.slots {
		if s.proc == nil && len(joiners) < 4 {
			joiners[s.index] = true
			w.startProcess(s)
		}
	}
	w.trace.Line(w, "CHAOS %d know, %d join", len(knowing), len(joiners))
	deaf, stopping := false, false
	c.onInstall = func(v *view.View) {
		switch {
		case len(v.Learners()) > 0 && !deaf:
			deaf = true
			w.after(c.moment(), nil, func() { g.deafen(knowing, joiners) })
		case deaf && len(v.Learners()) == 0 && !stopping:
			stopping = true
			w.after(c.moment(), nil, func() { g.stopAll(knowing) })
		}
	}
	w.after(time.Duration(random.Between(c.rng, int64(30*time.Second), int64(40*time.Second))), nil, func() {
		c.onInstall = nil
		w.net.LoseBy(nil)
		if !w.healed {
			thinOut(c)
			w.after(20*time.Second, nil, g.once)
		}
	})
}

// knowing draws a bare majority of the voters, as slots.
func (g stoppedGrowth) knowing() map[int]bool {
	c := g.c
	know := map[int]bool{}
	var view *view.View
	for _, p := range c.w.live {
		if v := p.mem.view; v != nil && (view == nil || v.Epoch > view.Epoch) {
			view = v
		}
	}
	if view == nil {
		return know
	}
	vs := view.Voters()
	for _, i := range c.rng.Perm(len(vs))[:len(vs)/2+1] {
		know[c.w.procs[uint64(vs[i].UID)].slot.index] = true
	}
	return know
}

// deafen keeps data from the processes that must not know, and for a while the joiners from saying
// that they have caught up.
func (g stoppedGrowth) deafen(knowing, joiners map[int]bool) {
	c, w := g.c, g.c.w
	until := w.now + int64(c.moment())
	w.net.LoseBy(func(from, to int, pk *network.Packet) bool {
		switch pk.To {
		case network.ToReplica:
			return knowing[from] != knowing[to]
		case network.ToMember:
			return joiners[from] && w.now < until
		}
		return false
	})
}

// stopAll stops everything. The processes that know come back after the others may have gone on
// without them, or with them.
func (g stoppedGrowth) stopAll(knowing map[int]bool) {
	c, w := g.c, g.c.w
	c.onInstall = nil
	w.net.LoseBy(nil)
	if w.healed {
		return
	}
	for _, s := range w.slots {
		if s.proc == nil {
			continue
		}
		w.counts.Crashes++
		s.proc.end("crash of all")
		wait := random.Between(c.rng, 0, int64(2*time.Second))
		if knowing[s.index] && c.rng.IntN(4) > 0 {
			wait = random.Between(c.rng, int64(10*time.Second), int64(20*time.Second))
		}
		w.after(time.Duration(wait), nil, func() { w.restart(s) })
	}
}
