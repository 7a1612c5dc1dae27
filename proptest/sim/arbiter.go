package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// arbiterStore is where the lease of downing.LeaseMajority lies: a lock that ends with its
// process, and goes on through a pause.
type arbiterStore struct {
	rng    *rand.Rand
	holder *Process // nil or dead: none
	record []byte
	down   bool // nothing can be asked of it
}

func newCourt(w *World) *arbiterStore {
	c := &arbiterStore{rng: w.rs.Stream("court", 0)}
	if _, ok := w.opt.Strategy.(downing.LeaseMajority); ok {
		w.after(c.while(), nil, func() { c.trouble(w) })
	}
	return c
}

func (c *arbiterStore) while() time.Duration {
	return time.Duration(random.Between(c.rng, int64(time.Second), int64(40*time.Second)))
}

// trouble takes the lease away from a holder, which is told first, or refuses it to all for a
// while, until the world heals.
func (c *arbiterStore) trouble(w *World) {
	c.down = false
	if w.healed {
		return
	}
	if h := c.holder; c.rng.IntN(2) == 0 && h != nil && h.alive && !h.frozen && !h.behind {
		w.trace.Line(h, "CHAOS takes the arbiter's lease")
		h.mem.step(membership.ArbiterLost{Err: "taken away"})
		c.holder = nil
	} else {
		c.down = c.rng.IntN(2) == 0
	}
	w.after(c.while(), nil, func() { c.trouble(w) })
}

// Prolonged implements drivers.MembersHost. The simulated lease lasts until it is lost.
func (d *memberHost) Prolonged() (membership.ArbiterProlonged, bool) {
	return membership.ArbiterProlonged{}, false
}

// Arbitrate implements drivers.MembersHost: one operation after the other.
func (d *memberHost) Arbitrate(op arbitration.Op) {
	w := d.p.w
	d.opFree = max(d.opFree, w.now) + random.Between(w.arbiterStore.rng, int64(w.opt.DiskMin), int64(w.opt.DiskMax))
	w.at(d.opFree, d.p, func() {
		if d.p.alive {
			w.arbiterStore.carryOut(d, op)
		}
	})
}

func (c *arbiterStore) carryOut(d *memberHost, op arbitration.Op) {
	p := d.p
	held := c.holder != nil && c.holder.alive
	switch {
	case op.Do == arbitration.Release:
		if c.holder == p {
			c.holder = nil
		}
	case op.Do == arbitration.Save && (c.down || c.holder != p):
		if c.holder == p && c.rng.IntN(2) == 0 { // a process that hears of a failure cannot know
			c.record = op.Record
		}
		d.step(membership.ArbiterSaved{Err: "the store is down"})
	case op.Do == arbitration.Save:
		c.record = op.Record
		d.step(membership.ArbiterSaved{})
	case c.down:
		d.step(membership.ArbiterDenied{Err: "the store is down"})
	case held && c.holder != p:
		d.step(membership.ArbiterDenied{})
	default:
		c.holder = p
		d.step(membership.ArbiterAcquired{Record: c.record, Until: locks.Forever})
	}
}
