package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/handlers"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// shardLoad is the clients of entities: they send numbered messages from random processes, and
// passivate entities.
type shardLoad struct {
	w       *World
	rng     *rand.Rand
	clients map[order]*client

	rngAsks, rngStops *rand.Rand
}

// client sends to one entity from one process.
type client struct {
	entity protocol.EntityID
	shard  protocol.ShardID
	last   uint64 // number of the last message
	busy   bool   // a burst is under way
}

func (w *World) startShardLoad() {
	if w.opt.Shards == 0 {
		return
	}
	l := &shardLoad{w: w, rng: w.rs.Stream("shard load", 0), clients: map[order]*client{},
		rngAsks: w.rs.Stream("asks", 0), rngStops: w.rs.Stream("stops", 0)}
	w.after(3*time.Second, nil, l.send)
	if w.opt.StopsShards {
		w.after(5*time.Second, nil, l.stopShards)
	}
	if w.opt.ActiveLimit > 0 {
		w.after(3*time.Second, nil, l.changeLimits)
	}
	if allocation.NeedsOf(w.opt.Allocation).Locations {
		w.after(3*time.Second, nil, l.locate)
	}
	w.after(w.opt.Safety+stall.AfterHeal+stall.ProbeShards, nil, l.probe)
}

func (l *shardLoad) send() {
	w := l.w
	if w.now > int64(w.opt.Safety+stall.AfterHeal) {
		return
	}
	w.at(w.now+int64(l.rng.ExpFloat64()*float64(w.opt.TellGap))+1, nil, l.send)
	if len(w.live) == 0 || w.pausedShards {
		return
	}
	p := w.live[l.rng.IntN(len(w.live))]
	d := p.types[l.rng.IntN(w.opt.EntityTypes)]
	if !d.usable() {
		return
	}
	id := protocol.EntityID("x" + strconv.Itoa(l.draw()))
	if w.shardChecker.rest(home{d.index, protocol.ShardOf(id, w.opt.Shards)}).quiet {
		return
	}
	if l.rng.IntN(50) == 0 {
		l.passivate(d, id)
		return
	}
	l.burst(d, id, 1+l.rng.IntN(3))
}

// someone picks the process by which an outsider acts until the world heals, and has it act again
// after a while; nil: not now.
func (l *shardLoad) someone(least, most time.Duration, again func()) *Process {
	w := l.w
	if w.healed {
		return nil
	}
	w.after(time.Duration(random.Between(l.rng, int64(least), int64(most))), nil, again)
	if len(w.live) == 0 {
		return nil
	}
	return w.live[l.rng.IntN(len(w.live))]
}

// draw picks an entity. Where loads are looked at some are told far more than others.
func (l *shardLoad) draw() int {
	n := l.w.opt.Shards * options.EntitiesPerShard
	if allocation.NeedsOf(l.w.opt.Allocation).Loads {
		x := l.rng.Float64()
		return int(x * x * x * float64(n))
	}
	return l.rng.IntN(n)
}

// burst sends some messages to one entity, one after the other. What a client sends to an entity
// does not overtake what it has sent there before.
func (l *shardLoad) burst(d *typeHost, id protocol.EntityID, n int) {
	k := order{d.p.uid, d.index, id}
	c := l.clients[k]
	if c == nil {
		c = &client{entity: id, shard: protocol.ShardOf(id, l.w.opt.Shards)}
		l.clients[k] = c
	}
	if c.busy {
		return
	}
	c.busy = true
	asks := random.Chance(l.rngAsks, l.w.opt.Asks)
	d.p.rt.Enter(func() {
		defer func() { c.busy = false }()
		for range n {
			if d.p.node.reason != nil || !d.p.alive {
				return
			}
			l.one(d, c, asks)
		}
	})
}

// one tells or asks one message, and notes what became of that.
func (l *shardLoad) one(d *typeHost, c *client, asks bool) {
	w, p := l.w, d.p
	c.last++
	m := &tell{
		id: len(w.tells), typ: d.index, shard: c.shard, entity: c.entity, from: p, seq: c.last, at: w.now,
	}
	w.tells = append(w.tells, m)
	w.shardChecker.mailOf(m.typ, m.entity).sent++
	w.shardChecker.rest(home{d.index, m.shard}).end(w)
	w.addressed[m.shard] = true
	w.counts.Tells++
	w.trace.Entity(p, d.t.Name, string(m.entity), "SENDS %v", m)
	ctx, cancel := p.rt.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	returned := false
	defer func() {
		if !returned {
			w.end(m, "its sender ended")
		}
	}()
	if !asks {
		err := d.region.Tell(ctx, string(c.entity), handlers.Note(m.id))
		returned = true
		if err != nil {
			w.notTaken(m, err)
			c.last-- // it has no place in the order
		}
		return
	}
	began := p.Time()
	d.questions.asked++
	got, err := sharding.Ask(ctx, d.region.Ref(string(c.entity)), handlers.Query(m.id))
	returned = true
	w.asked(m, got, err, p.Time().Sub(began))
}

func (l *shardLoad) passivate(d *typeHost, id protocol.EntityID) {
	d.p.rt.Enter(func() {
		ctx, cancel := d.p.rt.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		d.questions.asked++
		s := protocol.ShardOf(id, l.w.opt.Shards)
		r := l.w.shardChecker.rest(home{d.index, s})
		r.end(l.w)
		r.asks++
		if d.region.Passivate(ctx, string(id)) == nil { // else it is asked again some time
			d.questions.answer()
		}
		r.asks--
	})
}

// probe sends, once from every process of the healed world, a message to every entity, so that
// every shard must find a home.
func (l *shardLoad) probe() {
	w := l.w
	for _, p := range w.live {
		if p.toldAll || !p.usable() || p.slot.leaving || slices.ContainsFunc(p.types, isLate) {
			continue
		}
		p.toldAll, w.probedShards = true, true
		w.shardChecker.until = w.now + int64(4*time.Second)
		for _, d := range p.types {
			if d.closing {
				continue
			}
			for i := range w.opt.Shards * options.EntitiesPerShard {
				id := protocol.EntityID("x" + strconv.Itoa(i))
				l.burst(d, id, 1)
				if d.t.Remember.Entities && l.rngStops.IntN(4) == 0 {
					w.after(2*time.Second, p, func() { l.passivate(d, id) })
				}
			}
		}
	}
	w.after(stall.ProbeGap, nil, l.probe)
}

// changeLimits is an operator that changes the limit on one node now and then.
func (l *shardLoad) changeLimits() {
	w := l.w
	p := l.someone(500*time.Millisecond, 10*time.Second, l.changeLimits)
	if p == nil {
		return
	}
	d := p.types[l.rng.IntN(w.opt.EntityTypes)]
	limit := 1 + l.rng.IntN(w.opt.Shards*options.EntitiesPerShard)
	if !d.limited || !d.usable() {
		return
	}
	w.trace.Note(p, "OPERATOR limits T%d to %d entities", d.index, limit)
	p.rt.Enter(func() {
		if err := d.region.SetActiveEntityLimit(limit); err != nil {
			w.violate("sharding", "%v: %v", p, err)
		}
	})
}
