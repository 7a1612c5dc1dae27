package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// playOldLeases cuts the oldest node off and kills all others, again and again. They start again soon,
// or when the lease of the oldest has run out, and found the cluster anew; the oldest acts on under
// its lease meanwhile.
func playOldLeases(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		p, _ := w.live.twoOldest(w)
		if w.healed {
			return
		}
		if p == nil || !w.live.allUp(w.opt.Nodes) {
			w.after(time.Second, nil, next)
			return
		}
		w.trace.Line(w, "CHAOS cuts off %v and kills the others", p)
		c.isolate(p.slot)
		w.after(c.moment(), nil, func() { killOthers(c, p) })
		w.after(time.Duration(random.Between(c.rng, int64(20*time.Second), int64(40*time.Second))), nil, func() {
			w.net.Cut(nil)
			next()
		})
	}
	w.after(8*time.Second, nil, next)
}

// killOthers kills all but one process. They are down for about the same time, so that they meet.
func killOthers(c *chaos, p *Process) {
	w := c.w
	down := random.Between(c.rng, 0, int64(random.Pick(c.rng, 100*time.Millisecond, 3*time.Second, 12*time.Second)))
	for _, q := range slices.Clone(w.live) {
		if q == p || w.healed {
			continue
		}
		w.counts.Crashes++
		q.end("killed beside the oldest")
		w.after(time.Duration(down+int64(c.moment())), nil, func() { w.restart(q.slot) })
	}
}
