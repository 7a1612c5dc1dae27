package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// closing is one shutdown of the whole cluster.
type closing struct {
	c *chaos
	// quiet: nothing is sent from before the nodes leave until they are back.
	quiet bool
	// where shards were at home when the nodes began to leave, unless they were about to move; only
	// looked up
	homes    map[home]*Process
	alive    []closed      // remembered entities that ran then
	handlers time.Duration // what handlers take at most, since the present wait began
}

type home struct {
	typ   int
	shard protocol.ShardID
}

type closed struct {
	shard protocol.ShardID
	id    protocol.EntityID
}

// playClosings shuts the whole cluster down, again and again. A node joins, so that shards are
// about to move, and one node is told that all will stop. When all know, they leave, together or
// one by one. When all have ended, all are started. Nothing moves any more, everybody can leave,
// and what was remembered runs again, with no message for it.
func playClosings(c *chaos) {
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
			w.trace.Fault(p, "CHAOS closes the cluster")
			w.counts.Closings++
			p.mem.step(membership.CloseCluster{})
			k.within("not all know that the cluster is closing", k.known, func() {
				w.pausedShards = k.quiet
				w.after(4*time.Second, nil, func() { k.leave(done) }) // most of what has begun ends
			})
		})
	})
}

// within goes on when something has come to pass, which must be soon. What handlers take of the time
// of a shutdown does not count: it waits for them, whatever the cluster does.
func (k *closing) within(what string, come func() bool, then func()) {
	w := k.c.w
	end := w.now + int64(closingMost)/2
	k.handlers = 0
	w.eventually(func() bool { return come() || w.now > end+int64(k.handlers) }, func() {
		if !come() {
			w.violate("shutdown of the cluster", "%s: %d run, the first has %v", what, len(w.live), w.live[0].mem.view)
		}
		then()
	})
}

// known reports whether all members know. Others never will, and are not let in.
func (k *closing) known() bool {
	unaware := func(p *Process) bool { return p.mem.view != nil && !p.mem.view.Closing }
	return !slices.ContainsFunc(k.c.w.live, unaware)
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
	for _, p := range slices.Clone(w.live) {
		if p.mem.view == nil { // it was not let in
			p.end("stopped by the operator")
			continue
		}
		w.counts.Leaves++
		w.after(time.Duration(random.Between(c.rng, 0, int64(gap)*int64(len(w.live))+1)), nil, func() {
			if p.alive {
				p.leave()
			}
		})
	}
	k.within("not all can leave", func() bool { return len(w.live) == 0 }, func() { k.restart(done) })
}

// remember notes which entities must run again.
func (k *closing) remember(d *typeHost, h *hosting) {
	if !d.t.Remember.Entities || !k.quiet || k.c.w.opt.VolatileIDs {
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
	w.leases.Rest()
	w.trace.Fault(w, "CHAOS starts the cluster again, %d entities must come back", len(k.alive))
	for _, s := range w.slots {
		if s.started > 0 {
			w.after(time.Duration(random.Between(c.rng, 0, int64(3*time.Second))), nil, func() { c.startAgain(s) })
		}
	}
	k.within("what was remembered does not run", func() bool {
		// a request to passivate may have been under way when the nodes began to leave
		missing := func(e closed) bool { return !w.live.runs(e) && !w.shardChecker.mailOf(0, e.id).forgotten }
		return w.live.allUp(w.opt.Nodes) && !slices.ContainsFunc(k.alive, missing)
	}, func() {
		w.counts.Returned += uint64(len(k.alive))
		w.pausedShards = false
		w.leases.Resume()
		done()
	})
}
