package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// closedTypes closes entity types on nodes that stay, and starts them there again, while nodes join
// and leave. Nothing breaks, so the order of messages holds. In a calm world one node keeps all
// types, so that nothing is lost; elsewhere what waits may be dropped where no node is left to take
// it.
func (c *chaos) closedTypes() {
	w := c.w
	var next func()
	next = func() {
		if w.healed {
			c.startClosed()
			return
		}
		switch p := c.slot().proc; {
		case p != nil && w.opt.Calm && p == c.keeper():
		case p == nil || c.rng.IntN(6) == 0:
			c.join()
		case !p.up() || p.shard.leaving: // a node that leaves before it is let in has no other to give anything to
		case c.rng.IntN(6) == 0:
			c.leave(p)
		default:
			d := p.shard.types[c.rng.IntN(len(p.shard.types))]
			if d.closing {
				d.startAgain()
			} else {
				d.close()
			}
		}
		w.after(time.Duration(between(c.rng, int64(100*time.Millisecond), int64(4*time.Second))), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// keeper is the eldest process that may host; nil: there is none.
func (c *chaos) keeper() *Process {
	i := slices.IndexFunc(c.w.live, func(p *Process) bool { return !p.shard.types[0].cfg.Proxy })
	if i < 0 {
		return nil
	}
	return c.w.live[i]
}

// startClosed has all types run on one node once the world is healed, and some of the closed types
// elsewhere.
func (c *chaos) startClosed() {
	for _, p := range c.w.live {
		for _, d := range p.shard.types {
			if d.closing && (p == c.keeper() || c.rng.IntN(2) == 0) {
				c.startWhenLeft(d)
			}
		}
	}
}

func (c *chaos) startWhenLeft(d *typeDriver) {
	if d.startAgain(); d.closing && d.p.alive && !d.p.shard.leaving {
		c.w.after(500*time.Millisecond, d.p, func() { c.startWhenLeft(d) })
	}
}

// close ends the type on a node that stays. Its machines go on.
func (d *typeDriver) close() {
	d.closing = true
	d.p.w.counts.TypesClosed++
	d.p.w.trace.line(d.p, "CLOSES %s", d.cfg.Name)
	d.stepRegion(protocol.Leave{})
}

// startAgain starts a type that was closed, if nothing of it runs any more.
func (d *typeDriver) startAgain() {
	p, w := d.p, d.p.w
	if !d.closing || !d.left || p.shard.leaving || w.opt.Calm && len(d.buffers) > 0 {
		return
	}
	d.cfg.Predecessor = d.region.Predecessor()
	d.cfg.Predecessor.Seq = d.coord.Predecessor().Seq
	w.trace.line(p, "STARTS %s again: %+v", d.cfg.Name, d.cfg.Predecessor)
	for s := range protocol.ShardID(d.cfg.Shards) {
		for _, m := range d.buffers[s] {
			w.end(m, "the type was started again")
		}
	}
	clear(d.buffers)
	clear(d.routes)
	d.closing, d.left, d.coordHeld, d.regHeld = false, false, false, false
	d.makeMachines()
	d.stepCoord(protocol.Tick{})
	d.stepRegion(protocol.Tick{})
	if v := p.shard.view; v != nil {
		d.stepCoord(protocol.Install{View: v})
		d.stepRegion(protocol.Install{View: v})
	}
	var table []protocol.Entry
	var known []protocol.ShardID
	for s := range protocol.ShardID(d.cfg.Shards) {
		if e, ok := d.table[s]; ok {
			table = append(table, e)
		}
		if d.known[s] {
			known = append(known, s)
		}
	}
	d.stepCoord(protocol.TableChanged{Entries: table})
	d.stepRegion(protocol.TableChanged{Entries: table})
	if len(known) > 0 {
		d.stepCoord(protocol.RememberedChanged{Shards: known})
	}
}
