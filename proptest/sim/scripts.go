package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// growingView plays, again and again, the worst case of a view that grows: the oldest is cut off
// from an island of the second oldest and joiners, while those between reach both; at the moment
// when the view that drops the oldest and takes the joiners in commits, the island is cut off
// altogether. Old and new quorum then have almost no member in common, only their promises.
func (c *chaos) growingView() {
	w := c.w
	w.after(8*time.Second, nil, c.growOnce)
}

func (c *chaos) growOnce() {
	w := c.w
	if w.healed {
		return
	}
	again := func() {
		w.after(time.Duration(random.Between(c.rng, int64(20*time.Second), int64(40*time.Second))), nil, c.growOnce)
	}
	first, second := c.twoOldest()
	if first == nil || second == nil {
		w.net.cut(nil)
		w.after(5*time.Second, nil, c.growOnce)
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
	w.net.cut(func(a, b int) bool {
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
		w.net.cut(func(a, b int) bool { return island[a] != island[b] })
	}
	w.after(time.Duration(random.Between(c.rng, int64(25*time.Second), int64(35*time.Second))), nil, func() {
		c.onInstall = nil
		if w.healed {
			return
		}
		w.net.cut(nil)
		c.thinOut()
		again()
	})
}

// twoOldest are the two oldest live processes of the newest view.
func (c *chaos) twoOldest() (first, second *Process) {
	for _, p := range c.w.live {
		if !p.mem.oldest || p.mem.view == nil || !p.mem.holds(p.time()) {
			continue
		}
		vs := p.mem.view.Voters()
		if len(vs) < 3 {
			return nil, nil
		}
		second = c.w.procs[uint64(vs[1].UID)]
		if !second.alive {
			return nil, nil
		}
		return p, second
	}
	return nil, nil
}

// thinOut kills some, so that the next round has slots to grow with.
func (c *chaos) thinOut() {
	for _, s := range c.w.slots[c.w.opt.Nodes:] {
		if s.proc != nil && c.rng.IntN(2) == 0 {
			s.proc.end("thinned out")
		}
	}
}

// rollingMoves joins, leaves and crashes under load, one at a time, so that shards move all the
// while.
func (c *chaos) rollingMoves() {
	w := c.w
	var next func()
	next = func() {
		if w.healed {
			return
		}
		kinds := 8
		if w.opt.Calm {
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
			c.inject(connectionReset)
		case 6:
			c.inject(freeze)
		default:
			c.crash(c.slot())
		}
		w.after(time.Duration(random.Between(c.rng, int64(2*time.Second), int64(12*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// lostKinds redraws, every few seconds, which kinds of control packets get lost on which ways,
// under joins, partial cuts and crashes. A network that loses single packets can lose exactly
// these; waiting for chance to do so takes long.
func (c *chaos) lostKinds() {
	w := c.w
	var next func()
	next = func() {
		w.net.lose = nil
		if w.healed {
			return
		}
		if c.rng.IntN(5) > 0 {
			w.net.lose = c.drawLosses()
		}
		switch c.rng.IntN(8) {
		case 0, 1:
			c.join()
		case 2:
			w.net.cut(c.groups(2))
		case 3:
			c.inject(partial)
		case 4:
			c.crash(c.slot())
		case 5, 6:
			w.net.cut(nil)
		}
		w.after(time.Duration(random.Between(c.rng, int64(500*time.Millisecond), int64(7*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// drawLosses draws one to four rules: packets of one kind, from or to one slot (or any), get lost.
func (c *chaos) drawLosses() func(from, to int, pk *packet) bool {
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
	return func(from, to int, pk *packet) bool {
		for _, r := range rules {
			if (r.from < 0 || r.from == from) && (r.to < 0 || r.to == to) && pk.ch == toMember && len(pk.payload) > 1 &&
				pk.payload[1] == r.kind {
				return true
			}
		}
		return false
	}
}
