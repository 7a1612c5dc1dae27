package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// playClosedTypes closes entity types on nodes that stay, and starts them there again, while nodes join
// and leave. Nothing breaks, so the order of messages holds. In a calm world one node keeps all
// types, so that nothing is lost; elsewhere what waits may be dropped where no node is left to take
// it.
func playClosedTypes(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		if w.healed {
			startClosed(c)
			return
		}
		switch p := c.slot().proc; {
		case p != nil && w.opt.Calm && p == w.live.keeper():
		case p == nil || c.rng.IntN(6) == 0:
			c.join()
		case !p.up() || p.slot.leaving || slices.ContainsFunc(p.types, (*typeHost).isNew):
			// a node that leaves before it is let in has no other to give anything to
		case c.rng.IntN(6) == 0:
			c.leave(p)
		default:
			d := p.types[c.rng.IntN(len(p.types))]
			if d.closing {
				d.startAgain()
			} else {
				d.close()
			}
		}
		w.after(time.Duration(random.Between(c.rng, int64(100*time.Millisecond), int64(4*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// startClosed has all types run on one node once the world is healed, and some of the closed types
// elsewhere.
func startClosed(c *chaos) {
	for _, p := range c.w.live {
		for _, d := range p.types {
			if d.closing && (p == c.w.live.keeper() || c.rng.IntN(2) == 0) {
				d.startWhenLeft()
			}
		}
	}
}

// startWhenLeft starts a type again as soon as nothing of it runs any more.
func (d *typeHost) startWhenLeft() {
	if d.startAgain(); d.closing && d.p.alive && !d.p.slot.leaving {
		d.p.w.after(500*time.Millisecond, d.p, d.startWhenLeft)
	}
}
