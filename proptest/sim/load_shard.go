package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// shardLoad is the clients of entities: they send numbered messages from random processes, and
// passivate entities.
type shardLoad struct {
	w    *World
	rng  *rand.Rand
	next map[order]uint64
}

// entitiesPerShard is how many entities the clients know, for each shard on average.
const entitiesPerShard = 3

func (w *World) startShardLoad() {
	if w.opt.Shards == 0 {
		return
	}
	l := &shardLoad{w: w, rng: w.rs.stream("shard load", 0), next: map[order]uint64{}}
	w.after(3*time.Second, nil, l.send)
	if w.opt.ActiveLimit > 0 {
		w.after(3*time.Second, nil, l.changeLimits)
	}
	if allocation.NeedsOf(w.opt.Allocation).Locations {
		w.after(3*time.Second, nil, l.locate)
	}
	w.after(w.opt.Safety+afterHeal+10*time.Second, nil, l.probe)
}

func (l *shardLoad) send() {
	w := l.w
	if w.now > int64(w.opt.Safety+afterHeal) {
		return
	}
	w.at(w.now+int64(l.rng.ExpFloat64()*float64(w.opt.TellGap))+1, nil, l.send)
	if len(w.live) == 0 || w.pausedShards {
		return
	}
	p := w.live[l.rng.IntN(len(w.live))]
	if p.behind || p.mem.view == nil || p.shard.leaving {
		return
	}
	typ := l.rng.IntN(w.opt.EntityTypes)
	if p.shard.types[typ].closing {
		return
	}
	id := protocol.EntityID(fmt.Sprintf("x%d", l.draw()))
	if l.rng.IntN(50) == 0 {
		l.passivate(p, typ, id)
		return
	}
	for range 1 + l.rng.IntN(3) {
		l.tell(p, typ, id)
	}
}

// someone picks the process by which an outsider acts until the world heals, and has it act again
// after a while; nil: not now.
func (l *shardLoad) someone(least, most time.Duration, again func()) *Process {
	w := l.w
	if w.healed {
		return nil
	}
	w.after(time.Duration(between(l.rng, int64(least), int64(most))), nil, again)
	if len(w.live) == 0 {
		return nil
	}
	return w.live[l.rng.IntN(len(w.live))]
}

// draw picks an entity. Where loads are looked at some are told far more than others.
func (l *shardLoad) draw() int {
	n := l.w.opt.Shards * entitiesPerShard
	if allocation.NeedsOf(l.w.opt.Allocation).Loads {
		x := l.rng.Float64()
		return int(x * x * x * float64(n))
	}
	return l.rng.IntN(n)
}

func (l *shardLoad) tell(p *Process, typ int, id protocol.EntityID) {
	w := l.w
	k := order{p.uid, typ, id}
	l.next[k]++
	m := &tell{
		id: len(w.tells), typ: typ, shard: protocol.ShardOf(id, w.opt.Shards), entity: id, from: p,
		seq: l.next[k], at: w.now,
	}
	w.tells = append(w.tells, m)
	w.addressed[m.shard] = true
	w.counts.Tells++
	w.trace.line(p, "SENDS %v", m)
	p.shard.types[typ].tell(m)
}

func (l *shardLoad) passivate(p *Process, typ int, id protocol.EntityID) {
	if run := p.shard.types[typ].shards[protocol.ShardOf(id, l.w.opt.Shards)]; run != nil {
		if b := run.byID[id]; b != nil && b.active && !b.stopping {
			run.step(protocol.Passivate{ID: id})
		}
	}
}

// probe sends, once from every process of the healed world, a message to every entity, so that
// every shard must find a home.
func (l *shardLoad) probe() {
	w := l.w
	for _, p := range w.live {
		if p.toldAll || p.mem.view == nil || p.shard.leaving {
			continue
		}
		p.toldAll, w.probedShards = true, true
		for typ := range w.opt.EntityTypes {
			if p.shard.types[typ].closing {
				continue
			}
			for i := range w.opt.Shards * entitiesPerShard {
				l.tell(p, typ, protocol.EntityID(fmt.Sprintf("x%d", i)))
			}
		}
	}
	w.after(3*time.Second, nil, l.probe)
}

// lostPacket ends the message of a packet that the network lost.
func (w *World) lostPacket(pk packet) {
	w.counts.Lost++
	if pk.ch == toShard && pk.payload[0] == packTell {
		w.end(w.tells[binary.BigEndian.Uint32(pk.payload[3:])], "lost by the network")
	}
}
