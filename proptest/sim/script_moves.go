package sim

import (
	"time"

	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// playRollingMoves joins, leaves and crashes under load, one at a time, so that shards move all the
// while.
func playRollingMoves(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		if w.healed {
			return
		}
		kinds := 8
		if options.Ordered(&w.opt) {
			kinds = 5
		}
		switch c.rng.IntN(kinds) {
		case 0, 1, 2:
			c.join()
		case 3, 4:
			if p := c.slot().proc; p != nil {
				c.leave(p)
			}
		case 5:
			c.inject(options.ConnectionReset)
		case 6:
			c.inject(options.Freeze)
		default:
			c.crash(c.slot())
		}
		w.after(time.Duration(random.Between(c.rng, int64(2*time.Second), int64(12*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// playLostKinds redraws, every few seconds, which kinds of control packets get lost on which ways,
// under joins, partial cuts and crashes. A network that loses single packets can lose exactly
// these; waiting for chance to do so takes long.
func playLostKinds(c *chaos) {
	w := c.w
	var next func()
	next = func() {
		w.net.LoseBy(nil)
		if w.healed {
			return
		}
		if c.rng.IntN(5) > 0 {
			w.net.LoseBy(drawLosses(c))
		}
		switch c.rng.IntN(8) {
		case 0, 1:
			c.join()
		case 2:
			w.net.Cut(c.groups(2))
		case 3:
			c.inject(options.Partial)
		case 4:
			c.crash(c.slot())
		case 5, 6:
			w.net.Cut(nil)
		}
		w.after(time.Duration(random.Between(c.rng, int64(500*time.Millisecond), int64(7*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// drawLosses draws one to four rules: packets of one kind, from or to one slot (or any), get lost.
func drawLosses(c *chaos) func(from, to int, pk *network.Packet) bool {
	type rule struct {
		from, to int // -1: any
		kind     byte
	}
	rules := make([]rule, 1+c.rng.IntN(4))
	for i := range rules {
		rules[i] = rule{from: c.rng.IntN(len(c.w.slots)), to: -1, kind: byte(1 + c.rng.IntN(16))}
		if c.rng.IntN(2) == 0 {
			rules[i].from, rules[i].to = -1, rules[i].from
		}
	}
	return func(from, to int, pk *network.Packet) bool {
		for _, r := range rules {
			if (r.from < 0 || r.from == from) && (r.to < 0 || r.to == to) &&
				pk.To == network.ToMember && len(pk.Payload) > 1 &&
				pk.Payload[1] == r.kind {
				return true
			}
		}
		return false
	}
}
