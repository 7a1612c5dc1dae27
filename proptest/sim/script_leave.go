package sim

import (
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// playManyLeave lets, round by round, all but a minority of the members leave at once, and others join
// in their place. For a while before, and until after they could be gone, what they send on the
// FIFO lanes arrives late at the members that stay: the leavers alone know of what they
// acknowledged to each other. They must not all go with one view, nor before they have settled it.
func playManyLeave(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		if w.healed {
			return
		}
		outvote(c)
		w.after(5*time.Second, nil, func() {
			for range w.opt.Nodes {
				if !w.healed && w.slots.staying() < w.opt.Nodes {
					c.join()
				}
			}
		})
		w.after(time.Duration(random.Between(c.rng, int64(11*time.Second), int64(15*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// outvote lets a majority of the running members leave, and keeps what it knows from the rest.
func outvote(c *chaos) {
	w := c.w
	var members []*Process
	for _, p := range w.live {
		if p.mem.view != nil && !p.slot.leaving {
			members = append(members, p)
		}
	}
	c.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	leavers := members[:len(members)/2+len(members)%2]
	going := make([]bool, len(w.slots))
	for _, p := range leavers {
		going[p.slot.index] = true
	}
	until := w.now + int64(4*time.Second)
	w.net.HoldBy(func(from, to int) int64 {
		if going[from] && !going[to] {
			return until
		}
		return 0
	})
	w.after(time.Second, nil, func() {
		for _, p := range leavers {
			if p.alive && !w.healed {
				c.leave(p)
			}
		}
	})
}
