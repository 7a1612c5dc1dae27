package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/rollout"
)

// playRollingRestarts restarts all nodes, one after the other, again and again, under load: each
// leaves, comes back, and is up before the next one goes. In a world that is not calm some are
// killed instead.
func playRollingRestarts(c *chaos) {
	w := c.w
	turn := 0
	var next func()
	next = func() {
		if w.healed {
			return
		}
		s := w.slots[turn%w.opt.Nodes]
		turn++
		rollout.GoOn(w.operator.leases, w.live)
		if s.proc == nil || !w.live.allUp(w.opt.Nodes) {
			w.after(time.Second, nil, next)
			return
		}
		w.trace.Fault(w, "CHAOS restarts %v", s.proc)
		back := func() {
			if w.opt.Scenario == options.Retirements {
				w.operator.copies.Turn(s.disk)
			}
			c.startAgain(s)
			w.eventually(func() bool { return w.healed || w.live.allUp(w.opt.Nodes) }, func() {
				w.after(time.Duration(random.Between(c.rng, 0, int64(3*time.Second))), nil, next)
			})
		}
		if !w.opt.Calm && c.rng.IntN(4) == 0 {
			w.counts.Crashes++
			s.proc.end("killed in its turn")
			w.after(c.moment(), nil, back)
			return
		}
		w.counts.Leaves++
		s.proc.leave()
		w.eventually(func() bool { return w.healed || s.proc == nil }, func() { w.after(c.moment(), nil, back) })
	}
	w.after(8*time.Second, nil, next)
}

// eventually looks every so often whether something has come to pass, and goes on then.
func (w *World) eventually(come func() bool, then func()) {
	if come() {
		then()
		return
	}
	w.after(100*time.Millisecond, nil, func() { w.eventually(come, then) })
}

// up reports whether the process is Up in its own view.
func (p *Process) up() bool {
	if p.mem.view == nil {
		return false
	}
	me, ok := p.mem.view.Member(view.UID(p.uid))
	return ok && me.Status == view.Up
}
