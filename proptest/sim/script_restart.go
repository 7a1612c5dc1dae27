package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// rollingRestarts restarts all nodes, one after the other, again and again, under load: each
// leaves, comes back, and is up before the next one goes. In a world that is not calm some are
// killed instead.
func (c *chaos) rollingRestarts() {
	w := c.w
	turn := 0
	var next func()
	next = func() {
		if w.healed {
			return
		}
		s := w.slots[turn%w.opt.Nodes]
		turn++
		if s.proc == nil || !w.allUp(w.opt.Nodes) {
			w.after(time.Second, nil, next)
			return
		}
		w.trace.Line(w, "CHAOS restarts %v", s.proc)
		back := func() {
			c.startAgain(s)
			w.eventually(func() bool { return w.healed || w.allUp(w.opt.Nodes) }, func() {
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

// allUp reports whether so many processes run, and see each other Up.
func (w *World) allUp(n int) bool {
	up := 0
	for _, p := range w.live {
		if p.mem.view == nil || len(p.mem.view.Members) != len(w.live) {
			return false
		}
		if p.up() {
			up++
		}
	}
	return up >= n && up == len(w.live)
}

// up reports whether the process is Up in its own view.
func (p *Process) up() bool {
	if p.mem.view == nil {
		return false
	}
	me, ok := p.mem.view.Member(view.UID(p.uid))
	return ok && me.Status == view.Up
}

// startAgain starts a node on a slot whose node has left, or was killed.
func (c *chaos) startAgain(s *Slot) {
	s.retired = false
	if s.proc == nil {
		c.w.counts.Restarts++
		c.w.startProcess(s)
	}
}

// closing is one shutdown of the whole cluster.
type closing struct {
	c *chaos
	// quiet: nothing is sent from before the nodes leave until they are back.
	quiet bool
	// where shards were at home when the nodes began to leave, unless they were about to move; only
	// looked up
	homes map[home]*Process
	alive []closed // remembered entities that ran then
}

type home struct {
	typ   int
	shard protocol.ShardID
}

type closed struct {
	shard protocol.ShardID
	id    protocol.EntityID
}

// closings shuts the whole cluster down, again and again: somebody joins, so that shards are about
// to move; one node is told that all will stop; when all know, they leave, together or one by one;
// when all have ended, all are started. Nothing moves any more, everybody can leave, and what was
// remembered runs again, with no message for it.
func (c *chaos) closings() {
	var next func()
	next = func() {
		if w := c.w; !w.healed && w.now < int64(w.opt.Safety-closingMost) {
			k := &closing{c: c, quiet: c.rng.IntN(2) == 0}
			k.begin(func() {
				w.after(time.Duration(random.Between(c.rng, int64(5*time.Second), int64(15*time.Second))), nil, next)
			})
		}
	}
	c.w.after(time.Duration(random.Between(c.rng, int64(8*time.Second), int64(15*time.Second))), nil, next)
}

// closingMost is how long it may take to shut a cluster down and to start it again.
const closingMost = 60 * time.Second

func (k *closing) begin(done func()) {
	c, w := k.c, k.c.w
	c.join()
	w.after(time.Duration(random.Between(c.rng, 0, int64(6*time.Second))), nil, func() {
		var members []*Process // a process that is none has no other to tell, and forgets it
		w.eventually(func() bool {
			members = slices.DeleteFunc(slices.Clone(w.live), func(p *Process) bool { return p.mem.view == nil })
			return len(members) > 0
		}, func() {
			p := members[c.rng.IntN(len(members))]
			w.trace.Line(p, "CHAOS closes the cluster")
			w.counts.Closings++
			p.mem.step(membership.CloseCluster{})
			k.within("not all know that the cluster is closing", k.known, func() {
				w.pausedShards = k.quiet
				w.after(4*time.Second, nil, func() { k.leave(done) }) // most of what has begun ends
			})
		})
	})
}

// within goes on when something has come to pass, which must be soon.
func (k *closing) within(what string, come func() bool, then func()) {
	w := k.c.w
	end := w.now + int64(closingMost)/2
	w.eventually(func() bool { return come() || w.now > end }, func() {
		if !come() {
			w.violate("shutdown of the cluster", "%s: %d run, the first has %v", what, len(w.live), w.live[0].mem.view)
		}
		then()
	})
}

// known reports whether all members know. Others never will, and are not let in.
func (k *closing) known() bool {
	for _, p := range k.c.w.live {
		if v := p.mem.view; v != nil && !v.Closing {
			return false
		}
	}
	return true
}

func (k *closing) leave(done func()) {
	c, w := k.c, k.c.w
	k.homes = map[home]*Process{}
	for _, p := range w.live {
		for _, d := range p.types {
			for _, s := range d.hosted() {
				// since before the word
				moves := d.routes[s].State == protocol.RouteDraining || d.routes[s].State == protocol.RouteMoving
				if !moves {
					k.homes[home{d.index, s}] = p
				}
				k.remember(d, d.shards[s])
			}
		}
	}
	w.closing = k
	gap := random.Pick(c.rng, 0, 500*time.Millisecond, 4*time.Second)
	for _, p := range append([]*Process(nil), w.live...) {
		switch {
		case p.mem.view == nil: // it was not let in
			p.end("stopped by the operator")
		default:
			w.counts.Leaves++
			w.after(time.Duration(random.Between(c.rng, 0, int64(gap)*int64(len(w.live))+1)), nil, func() {
				if p.alive {
					p.leave()
				}
			})
		}
	}
	k.within("not all can leave", func() bool { return len(w.live) == 0 }, func() { k.restart(done) })
}

// remember notes which entities must run again.
func (k *closing) remember(d *typeHost, h *hosting) {
	if !d.t.Remember.Entities || !k.quiet {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(h.entities)) {
		if l := h.entities[id]; l.active && !l.stopping {
			k.alive = append(k.alive, closed{h.shard, id})
		}
	}
}

func (k *closing) restart(done func()) {
	c, w := k.c, k.c.w
	w.closing = nil
	w.leases.rest()
	w.trace.Line(w, "CHAOS starts the cluster again, %d entities must come back", len(k.alive))
	for _, s := range w.slots {
		if s.started > 0 {
			w.after(time.Duration(random.Between(c.rng, 0, int64(3*time.Second))), nil, func() { c.startAgain(s) })
		}
	}
	k.within("what was remembered does not run", func() bool { return w.allUp(w.opt.Nodes) && !k.missing() }, func() {
		w.counts.Returned += uint64(len(k.alive))
		w.pausedShards, w.leases.rests = false, false
		done()
	})
}

// missing reports whether some remembered entity does not run.
func (k *closing) missing() bool {
	return slices.ContainsFunc(k.alive, func(e closed) bool { return !k.c.w.runs(e) })
}

// runs reports whether a remembered entity is alive somewhere.
func (w *World) runs(e closed) bool {
	for _, p := range w.live {
		if h := p.types[0].shards[e.shard]; h != nil && h.entities[e.id] != nil && h.entities[e.id].active {
			return true
		}
	}
	return false
}
