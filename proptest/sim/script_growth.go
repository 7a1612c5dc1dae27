package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// growth plays, again and again, the worst case of a view that grows: the oldest is cut off
// from an island of the second oldest and joiners, while those between reach both; at the moment
// when the view that drops the oldest and takes the joiners in commits, the island is cut off
// altogether. Old and new quorum then have almost no member in common, only their promises.
type growth struct{ c *chaos }

func playGrowingView(c *chaos) { c.w.after(8*time.Second, nil, growth{c}.once) }

func (g growth) once() {
	c, w := g.c, g.c.w
	if w.healed {
		return
	}
	again := func() {
		w.after(time.Duration(random.Between(c.rng, int64(20*time.Second), int64(40*time.Second))), nil, g.once)
	}
	first, second := w.live.twoOldest(w)
	if first == nil || second == nil {
		w.net.Cut(nil)
		w.after(5*time.Second, nil, g.once)
		return
	}
	island := map[int]bool{second.slot.index: true}
	grown := 0
	for _, s := range w.slots {
		if s.proc == nil && grown <= len(first.mem.view.Members) {
			grown++
			island[s.index] = true
			s.retired = false
			w.after(time.Duration(random.Between(c.rng, 0, int64(3*time.Second))), nil, func() {
				if s.proc == nil && !w.healed {
					w.startProcess(s)
				}
			})
		}
	}
	w.trace.Line(w, "CHAOS growing view: %v against %v and %d joiners", first, second, grown)
	bridge := second.slot.index
	c.onInstall = nil
	w.net.Cut(func(a, b int) bool {
		switch {
		case a == first.slot.index && island[b], b == first.slot.index && island[a]:
			return true
		case island[a] != island[b]:
			return a != bridge && b != bridge
		}
		return false
	})
	epoch := first.mem.view.Epoch
	c.onInstall = func(v *view.View) {
		if w.healed || v.Epoch <= epoch || v.Has(view.UID(first.uid)) && c.rng.IntN(3) != 0 {
			return
		}
		c.onInstall = nil
		w.trace.Line(w, "CHAOS the island is cut off")
		w.net.Cut(func(a, b int) bool { return island[a] != island[b] })
	}
	w.after(time.Duration(random.Between(c.rng, int64(25*time.Second), int64(35*time.Second))), nil, func() {
		c.onInstall = nil
		if w.healed {
			return
		}
		w.net.Cut(nil)
		thinOut(c)
		again()
	})
}

// thinOut kills some, so that the next round has slots to grow with.
func thinOut(c *chaos) {
	for _, s := range c.w.slots[c.w.opt.Nodes:] {
		if s.proc != nil && c.rng.IntN(2) == 0 {
			s.proc.end("thinned out")
		}
	}
}
