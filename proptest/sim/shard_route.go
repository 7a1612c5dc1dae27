package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// tell is one numbered message to an entity. The world knows all of them; packets carry their
// number.
type tell struct {
	id     int
	typ    int
	shard  protocol.ShardID
	entity protocol.EntityID
	from   *Process
	seq    uint64   // of this sender to this entity, from 1
	fate   string   // how it ended; empty: it is still on its way
	at     int64    // when it was sent
	to     *Process // for whom it is on a lane; nil: it is not
}

func (m *tell) String() string {
	return fmt.Sprintf("tell#%d %v→T%d/%s(%v) seq %d", m.id, m.from, m.typ, m.entity, m.shard, m.seq)
}

// bufferMax bounds the messages that one region buffers per shard.
const bufferMax = 1 << 16

// hopsMax bounds how often a message is forwarded.
const hopsMax = 8

func (m *tell) pack(hops byte) []byte {
	return binary.BigEndian.AppendUint32([]byte{packTell, byte(m.typ), hops}, uint32(m.id))
}

// post sends a message from this node's own senders.
func (d *typeDriver) tell(m *tell) {
	r := d.routes[m.shard]
	if r.State.Buffers() || len(d.buffers[m.shard]) > 0 {
		d.buffer(m)
		return
	}
	d.along(r, m, 0)
}

// along sends a message where a route leads.
func (d *typeDriver) along(r protocol.Route, m *tell, hops byte) {
	if r.State == protocol.RouteRemote {
		m.to = d.p.w.procs[uint64(r.Home)]
		d.p.w.net.send(d.p, uint64(r.Home), data, uint32(m.shard)%stripes, toShard, m.pack(hops))
		return
	}
	d.deliver(m)
}

func (d *typeDriver) buffer(m *tell) {
	b := d.buffers[m.shard]
	if len(b) >= bufferMax {
		d.p.w.end(m, "buffer full")
		return
	}
	d.buffers[m.shard] = append(b, m)
	if len(b) == 0 {
		d.stepRegion(protocol.Wanted{Shard: m.shard})
	}
}

// arrive takes a message from a data lane.
func (d *typeDriver) arrive(pk packet) {
	m := d.p.w.tells[binary.BigEndian.Uint32(pk.payload[3:])]
	m.to = nil
	hops := pk.payload[2]
	r := d.routes[m.shard]
	switch r.State {
	case protocol.RouteLocal, protocol.RouteDraining:
		if len(d.buffers[m.shard]) > 0 && r.State == protocol.RouteLocal {
			d.buffer(m)
			return
		}
		d.deliver(m)
	case protocol.RouteRemote:
		if hops >= hopsMax {
			d.p.w.end(m, "forwarded too often")
			return
		}
		if len(d.buffers[m.shard]) > 0 {
			d.buffer(m)
		} else {
			d.along(r, m, hops+1)
		}
		d.misrouted(pk, m)
	default:
		d.buffer(m)
		if r.State != protocol.RouteStarting {
			d.misrouted(pk, m)
		}
	}
}

func (d *typeDriver) misrouted(pk packet, m *tell) {
	d.stepRegion(protocol.Misrouted{From: view.UID(pk.from), Shard: m.shard})
}

// act carries out one action of the region.
func (d *typeDriver) act(a protocol.RegionAction) {
	switch a := a.(type) {
	case protocol.SetRoute:
		d.routes[a.Shard] = a.Route
	case protocol.FlushBuffer:
		d.flush(a.Shard)
	case protocol.DropBuffer:
		for _, m := range d.buffers[a.Shard] {
			d.p.w.end(m, a.Reason.String())
		}
		delete(d.buffers, a.Shard)
	case protocol.SendFence:
		b := protocol.AppendMessage([]byte{packMessage, byte(d.index)},
			protocol.Fence{Shard: a.Shard, HandOff: a.HandOff})
		d.p.w.net.send(d.p, uint64(a.To), data, uint32(a.Shard)%stripes, toShard, b)
	case protocol.StartShard:
		d.startShard(a.Shard, a.Wait)
	case protocol.DrainShard:
		d.ofShard(a.Shard, protocol.Drain{HandOff: a.HandOff})
	case protocol.StopShard:
		d.p.w.counts.HandOffs++
		d.ofShard(a.Shard, protocol.Stop{HandOff: a.HandOff, Force: a.Force})
	case protocol.ResumeShard:
		d.ofShard(a.Shard, protocol.Resume{})
		d.shards[a.Shard].askAgain()
	case protocol.CloseShard:
		d.closeShard(a.Shard, "left in a closed shard")
	case protocol.KillShard:
		run := d.shards[a.Shard]
		d.closeShard(a.Shard, a.Reason.String())
		if run != nil {
			run.retire()
		}
	default:
		d.p.w.violate("sharding", "unknown action %T", a)
	}
}

func (d *typeDriver) ofShard(s protocol.ShardID, in protocol.ShardInput) {
	run := d.shards[s]
	if run == nil {
		d.p.w.violate("sharding", "%v %s: %T for shard %v, which is not here", d.p, d.cfg.Name, in, s)
		return
	}
	d.p.post(func() { run.step(in) })
}

// flush sends what a buffer holds along the shard's route.
func (d *typeDriver) flush(s protocol.ShardID) {
	waiting := d.buffers[s]
	delete(d.buffers, s)
	r := d.routes[s]
	if r.State.Buffers() {
		d.buffers[s] = waiting
		return
	}
	for _, m := range waiting {
		d.along(r, m, 0)
	}
}
