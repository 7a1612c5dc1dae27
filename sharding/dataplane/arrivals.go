package dataplane

import (
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
)

// incoming is what the messages of other nodes need.
type incoming struct {
	decoder
	arrivals sync.Pool // *arrivals
}

// arrivals are messages of frames that came together, sorted by entity, so that each entity is looked for and
// each mailbox is locked once for all of its messages. They keep the order of the messages of each entity;
// there is none between entities.
type arrivals struct {
	plane   *Plane
	from    uint64
	frames  [][]byte
	batch   mailbox.Batch
	decoder codec.Decoder
	groups  []group              // in the order of their first messages
	table   [arrivalSlots]uint16 // by hash: the number of a group, from 1; 0: none
}

// arrivalSlots are the slots of the table, a power of two: less than half of them are taken.
const arrivalSlots = 1024

var _ [arrivalSlots - 2*transport.BatchMax]struct{} // or a search would not end soon

// group is the messages of one entity.
type group struct {
	entity *entities.Entity
	slot   uint32 // of the table
	chain  mailbox.Chain
}

func newArrivals(r *Plane) *arrivals { return &arrivals{plane: r} }

var _ transport.BatchHandler = (*Plane)(nil)

// ReceiveAll implements transport.BatchHandler.
func (r *Plane) ReceiveAll(from transport.NodeID, payloads [][]byte) {
	a := r.incoming.arrivals.Get().(*arrivals)
	a.from, a.frames = uint64(from), payloads
	for i := range payloads {
		a.take(i)
	}
	a.deliver()
	a.frames = nil
	r.incoming.arrivals.Put(a)
}

// take takes a frame. What is no message for an entity follows the messages that came before it, unless it is
// a reply, which is in no order with them.
func (a *arrivals) take(frame int) {
	r := a.plane
	rd := cbor.NewReader(FrameOf(a.frames[frame]))
	kind, fields := codec.OpenFrame(rd)
	if rd.Err() == nil && (kind == codec.Tell || kind == codec.Ask) {
		var m codec.Message
		if readMessage(r, a.from, rd, kind, fields, &m) && !a.sort(&m, frame) {
			a.deliver()
			r.inbound(a.from, &m)
		}
		return
	}
	if kind != codec.Reply {
		a.deliver()
	}
	r.Receive(transport.NodeID(a.from), a.frames[frame])
}

// sort puts a message to those of its entity. False: it has to be looked at by itself.
func (a *arrivals) sort(m *codec.Message, frame int) bool {
	r := a.plane
	s := r.Routes.Lanes[m.Shard].Load()
	if s == nil {
		return false
	}
	g := a.groupOf(s, m.ID)
	if g == nil {
		return false
	}
	env, err := r.incoming.decodeBy(&a.decoder, m)
	if err != nil {
		r.Out.discardRaw(failure.DropOf(err), m)
		return true
	}
	if codec.Administrative(env.Msg) {
		return false
	}
	a.batch.Add(&g.chain, env, routes.BytesOf(m), frame)
	return true
}

// groupOf is the group of an entity; nil: the shard has none of that id. What has an entity is an id.
func (a *arrivals) groupOf(s *entities.Shard, id []byte) *group {
	h := a.plane.Entities.HashOf(id)
	slot := uint32(h) % arrivalSlots
	for ; a.table[slot] != 0; slot = (slot + 1) % arrivalSlots {
		if g := &a.groups[a.table[slot]-1]; g.entity.Shard == s && g.entity.ID == string(id) {
			return g
		}
	}
	e := s.PeekBytes(h, id)
	if e == nil {
		return nil
	}
	a.groups = append(a.groups, group{entity: e, slot: slot})
	a.table[slot] = uint16(len(a.groups))
	return &a.groups[len(a.groups)-1]
}

// deliver hands the messages over that were sorted.
func (a *arrivals) deliver() {
	for i := range a.groups {
		g := &a.groups[i]
		a.table[g.slot] = 0
		a.deliverTo(g)
	}
	clear(a.groups)
	a.groups = a.groups[:0]
	a.batch.Empty()
}

// deliverTo hands over the messages of one entity.
func (a *arrivals) deliverTo(g *group) {
	for !g.chain.IsEmpty() {
		v := g.entity.AcceptAll(&a.batch, &g.chain)
		if v == mailbox.Accepted {
			return
		}
		env, _, frame := a.batch.First(&g.chain)
		a.batch.Drop(&g.chain)
		if reason, is := v.Drop(); is {
			s := g.entity.Shard
			a.plane.Out.Discard(reason, s.Number, g.entity.ID, env)
			continue
		}
		a.plane.Receive(transport.NodeID(a.from), a.frames[frame]) // the entity has ended, or its shard moves
	}
}
