package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
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
		w.trace.Fault(w, "CHAOS cuts off %v and kills the others", p)
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

// playWakeUps suspends the oldest node, again and again, until the others have gone on without it or
// its lease has run out. It wakes up with a clock that says that no time has passed.
func playWakeUps(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		p, _ := w.live.twoOldest(w)
		if w.healed {
			return
		}
		if p == nil || p.frozen || !w.live.allUp(w.opt.Nodes) {
			w.after(time.Second, nil, next)
			return
		}
		w.trace.Fault(w, "CHAOS suspends %v", p)
		times := w.opt.Times()
		least := times.LeaseDuration / 2
		d := time.Duration(random.Between(c.rng, int64(least), int64(least+2*times.LeaseDuration+times.StableAfter)))
		if w.now+int64(d) > int64(w.opt.Safety) {
			return
		}
		p.mem.step(membership.Tick{})
		p.pause(d)
		p.clock.Suspend(d)
		w.after(d+time.Duration(random.Between(c.rng, int64(5*time.Second), int64(15*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}
