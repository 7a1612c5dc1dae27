package membership

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
)

// arbiterStore is the store of the arbiter's lease in a world.
type arbiterStore struct {
	holder  *node
	expires time.Duration // of the hold; 0 = it does not
	record  []byte

	ttl   time.Duration // 0: a lock that ends with its process; else the hold ends unless it is prolonged
	delay time.Duration // what is asked of it takes up to that
	early bool          // planted: a save is answered when it is asked for, and made later
	fails func(*node, arbitration.Op) bool
	saved func(*node, arbitration.Record) // sees every save that was made, before it is answered
	down  bool                            // nothing can be asked of it
}

// arbitrate carries out what a node wants of the arbiter's lease, in order.
func (n *node) arbitrate(op arbitration.Op) {
	w, c := n.w, &n.w.arbiterStore
	wait := time.Microsecond
	if c.delay > 0 {
		wait += time.Duration(w.rng.Int64N(int64(c.delay)))
	}
	n.opFree = max(n.opFree, w.now) + wait
	if op.Do == arbitration.Save && c.early {
		w.after(0, func() { n.step(ArbiterSaved{}) })
	}
	w.at(n.opFree, func() { c.carryOut(n, op) })
}

func (c *arbiterStore) carryOut(n *node, op arbitration.Op) {
	w := n.w
	if !n.alive {
		return
	}
	if w.now < n.paused { // its process does not run
		w.at(n.paused, func() { c.carryOut(n, op) })
		return
	}
	bad := c.down || c.fails != nil && c.fails(n, op)
	switch op.Do {
	case arbitration.Acquire:
		switch {
		case bad:
			n.step(ArbiterDenied{Err: "down"})
		case c.held(w) && c.holder != n:
			n.step(ArbiterDenied{})
		default:
			n.step(ArbiterAcquired{Record: c.record, Until: c.grant(n)})
		}
	case arbitration.Save:
		ours := c.held(w) && c.holder == n
		if ours && (!bad || w.rng.IntN(2) == 0) { // a node that hears of a failure cannot know
			c.record = op.Record
			if c.saved != nil {
				r, _ := arbitration.Decode(op.Record)
				c.saved(n, r)
			}
		}
		switch {
		case c.early:
		case !ours || bad:
			n.step(ArbiterSaved{Err: "down"})
		default:
			n.step(ArbiterSaved{})
		}
	case arbitration.Release:
		if c.holder == n {
			c.holder = nil
		}
	}
}

// held reports whether a node holds the lease. The dead do not, and neither do those that have let
// it run out.
func (c *arbiterStore) held(w *world) bool {
	return c.holder != nil && c.holder.alive && (c.ttl == 0 || w.now < c.expires)
}

// grant makes a node the holder, and prolongs the hold as its process would. The node's clock may
// run a little slower than the world's.
func (c *arbiterStore) grant(n *node) (until time.Time) {
	c.holder = n
	if c.ttl == 0 {
		return n.local().Add(1000 * time.Hour)
	}
	w := n.w
	c.expires = w.now + c.ttl
	end := c.expires
	w.after(c.ttl/3, func() {
		if n.alive && w.now >= n.paused && c.holder == n && c.expires == end && !c.down {
			n.step(ArbiterProlonged{c.grant(n)})
		}
	})
	return n.local().Add(c.ttl * 9 / 10)
}

// take takes the lease away from a holder that runs, and tells it first.
func (c *arbiterStore) take(w *world) {
	if n := c.holder; n != nil && n.alive && w.now >= n.paused {
		n.step(ArbiterLost{Err: "taken away"})
		c.holder = nil
	}
}

// troubleArbiter draws what befalls the arbiter's lease in a random world, from numbers of its own:
// those of the other strategies' worlds stay the same.
func (c *chaos) troubleArbiter(seed uint64) {
	w, r := c.w, rand.New(rand.NewPCG(seed, 3))
	w.arbiterStore.delay = []time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second}[r.IntN(4)]
	w.arbiterStore.ttl = []time.Duration{0, 0, 3 * time.Second, 15 * time.Second}[r.IntN(4)]
	flaky := []float64{0, 0, 0.1, 0.5}[r.IntN(4)]
	w.arbiterStore.fails = func(*node, arbitration.Op) bool { return !c.heal && r.Float64() < flaky }
	rate := []time.Duration{0, 30 * time.Second, 8 * time.Second}[r.IntN(3)]
	if rate == 0 {
		return
	}
	var strike func()
	strike = func() {
		if c.heal {
			w.arbiterStore.down = false
			return
		}
		switch r.IntN(4) {
		case 0:
			w.arbiterStore.down = true
		case 1:
			w.arbiterStore.down = false
		default:
			w.arbiterStore.take(w)
		}
		w.after(time.Duration(r.Int64N(int64(rate))), strike)
	}
	w.after(rate, strike)
}
