package protocol_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/shard"
)

// tell is a user's message on this node.
func (n *simNode) tell(id protocol.EntityID) {
	st := stream{from: n.uid, to: id}
	n.w.sent[st]++
	n.w.got[st] = n.w.gotOf(st)
	n.route(protocol.ShardOf(id, n.w.opt.shards), simMsg{stream: st, n: n.w.sent[st]}, 0)
}

func (w *world) gotOf(st stream) map[int]bool {
	if w.got[st] == nil {
		w.got[st] = map[int]bool{}
	}
	return w.got[st]
}

// route is the data plane: from is the peer that brought the message, 0 for own senders.
func (n *simNode) route(s protocol.ShardID, m simMsg, from protocol.UID) {
	r := n.routes[s]
	local := r.State == protocol.RouteLocal || r.State == protocol.RouteDraining && from != 0
	if local && (from != 0 || len(n.buffers[s]) == 0) {
		n.push(s, m)
		return
	}
	if r.State == protocol.RouteRemote && len(n.buffers[s]) == 0 {
		n.forward(s, m, r.Home, from)
		return
	}
	n.buffers[s] = append(n.buffers[s], m)
	if len(n.buffers[s]) == 1 {
		n.post(protocol.Wanted{Shard: s})
	}
}

func (n *simNode) forward(s protocol.ShardID, m simMsg, to, from protocol.UID) {
	if from != 0 {
		m.hops++
		n.post(protocol.Misrouted{From: from, Shard: s})
	}
	if m.hops > 20 {
		n.w.lose("hops", 1)
		return
	}
	n.lane(to, m)
}

// lane sends a message or a fence to a peer, in order. While the lane is down messages wait in the
// sender; fences are lost with the connection.
func (n *simNode) lane(to protocol.UID, x any) {
	l := n.lanes[to]
	if l == nil {
		l = &simLane{}
		n.lanes[to] = l
	}
	if l.down {
		if _, fence := x.(protocol.Fence); !fence {
			l.held = append(l.held, x)
		}
		return
	}
	slow := 200 * time.Millisecond
	if n.w.opt.absences {
		slow = 60 * time.Millisecond // a node whose region is closed leaves without fences, and ends 100 ms later
	}
	at := n.w.now.Add(n.w.between(0, 25*time.Millisecond) + n.w.lag(slow))
	if at.Before(l.last) {
		at = l.last
	}
	l.last = at
	n.w.after(at.Sub(n.w.now), func() { n.w.arrive(n, to, x) })
}

func (w *world) arrive(from *simNode, to protocol.UID, x any) {
	n := w.nodes[to]
	m, isMsg := x.(simMsg)
	if !n.alive || n.cut || from.cut {
		if isMsg {
			w.lose("dead peer", 1)
		}
		return
	}
	if n.region == nil {
		if isMsg {
			w.lose("absent", 1)
		}
		return
	}
	if f, ok := x.(protocol.Fence); ok {
		n.post(protocol.Receive{From: from.uid, Msg: f})
		return
	}
	n.route(protocol.ShardOf(m.to, w.opt.shards), m, from.uid)
}

// breakLink takes the lane to a peer down for a while.
func (n *simNode) breakLink(to protocol.UID) {
	l := n.lanes[to]
	if l == nil || l.down {
		return
	}
	l.down = true
	n.w.after(n.w.between(20*time.Millisecond, 300*time.Millisecond), func() {
		l.down = false
		held := l.held
		l.held = nil
		for _, x := range held {
			n.lane(to, x)
		}
		n.post(protocol.LinkUp{Peer: to})
	})
}

func (n *simNode) act(a protocol.RegionAction) {
	switch a := a.(type) {
	case protocol.SetRoute:
		n.routes[a.Shard] = a.Route
	case protocol.FlushBuffer:
		n.flush(a.Shard)
	case protocol.DropBuffer:
		n.w.lose(a.Reason.String(), len(n.buffers[a.Shard]))
		delete(n.buffers, a.Shard)
	case protocol.SendFence:
		n.lane(a.To, protocol.Fence{Shard: a.Shard, HandOff: a.HandOff})
	case protocol.StartShard:
		m, err := shard.New(n.cfg, rand.New(rand.NewPCG(n.w.rng.Uint64(), 1)), a.Shard)
		if err != nil {
			panic(err)
		}
		if n.shards[a.Shard] != nil {
			n.w.fail("%v: shard %v is made twice", n.uid, a.Shard)
		}
		n.shards[a.Shard] = &simShard{m: m, id: a.Shard, entities: map[protocol.EntityID]*simEntity{}}
		n.stepShard(a.Shard, protocol.Open{Wait: a.Wait})
	case protocol.DrainShard:
		n.stepShard(a.Shard, protocol.Drain{HandOff: a.HandOff})
	case protocol.StopShard:
		n.passesOn(a.Shard, n.shards[a.Shard])
		n.stepShard(a.Shard, protocol.Stop{HandOff: a.HandOff, Force: a.Force})
	case protocol.ResumeShard:
		n.stepShard(a.Shard, protocol.Resume{})
	case protocol.CloseShard:
		if k := n.shards[a.Shard].writing; k > 0 {
			n.w.fail("%v: shard %v has stopped with %d writes outstanding", n.uid, a.Shard, k)
		}
		n.closeShard(a.Shard, "close")
	case protocol.KillShard:
		sh := n.shards[a.Shard]
		n.closeShard(a.Shard, a.Reason.String())
		n.retire(a.Shard, sh)
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

// flush empties the buffer along the route, in order.
func (n *simNode) flush(s protocol.ShardID) {
	ms := n.buffers[s]
	delete(n.buffers, s)
	r := n.routes[s]
	for _, m := range ms {
		if r.State == protocol.RouteRemote {
			n.forward(s, m, r.Home, 0)
		} else {
			n.push(s, m)
		}
	}
}

func (n *simNode) closeShard(s protocol.ShardID, why string) {
	sh := n.shards[s]
	for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
		e := sh.entities[id]
		n.w.lose(why, len(e.mailbox))
		n.ended(id, e)
	}
	delete(n.shards, s)
	delete(n.timers, "shard"+s.String())
}

// push puts a message into the mailbox of a local entity.
func (n *simNode) push(s protocol.ShardID, m simMsg) {
	sh := n.shards[s]
	if sh == nil {
		n.w.fail("%v: route of shard %v is %v, but it is not here", n.uid, s, n.routes[s])
		return
	}
	e := sh.entities[m.to]
	if e == nil {
		e = &simEntity{}
		sh.entities[m.to] = e
	}
	e.mailbox = append(e.mailbox, m)
	waiting := len(e.mailbox)
	if e.closing {
		waiting -= e.mark
	}
	if e.alive && !e.closing {
		n.work(s, sh, m.to, e)
	} else if waiting == 1 {
		n.wake(s, sh, m.to)
	}
}

func (n *simNode) wake(s protocol.ShardID, sh *simShard, id protocol.EntityID) {
	n.w.after(n.w.between(0, time.Millisecond), func() {
		if n.shards[s] == sh {
			n.stepShard(s, protocol.Wake{ID: id})
		}
	})
}

// work handles the next message of an entity.
func (n *simNode) work(s protocol.ShardID, sh *simShard, id protocol.EntityID, e *simEntity) {
	if e.busy || !e.alive || e.pause || len(e.mailbox) == 0 {
		return
	}
	e.busy = true
	d := n.w.between(0, 4*time.Millisecond)
	if n.w.opt.slow && !n.w.healed && n.w.chance(1) {
		d = n.w.between(0, 5*time.Second)
	}
	n.w.after(d, func() {
		e.busy = false
		if !n.alive || !n.lease || n.shards[s] != sh || !e.alive || !n.allowed(s, sh) {
			return
		}
		m := e.mailbox[0]
		e.mailbox = e.mailbox[1:]
		if e.closing {
			e.mark--
		}
		if n.w.opt.leases && !n.w.holdsLease(shardName(s), sh) {
			n.w.fail("%v handles a message of %v without the lease of shard %v", n.uid, m.stream, s)
		}
		n.w.handle(m)
		n.afterwards(s, sh, id, e)
	})
}

func (n *simNode) afterwards(s protocol.ShardID, sh *simShard, id protocol.EntityID, e *simEntity) {
	switch {
	case e.closing && (e.mark <= 0 || e.pause):
		n.stopEntity(s, sh, id, e)
	case !e.closing && n.w.chance(max(2, n.w.opt.passivate)) && len(e.mailbox) == 0:
		n.stepShard(s, protocol.Passivate{ID: id})
	case !e.closing && n.w.chance(1):
		n.stopEntity(s, sh, id, e) // it ends by itself
	default:
		n.work(s, sh, id, e)
	}
	n.maybeEmpty(s, sh)
}

// stopEntity ends the incarnation. What waits wakes the next one.
func (n *simNode) stopEntity(s protocol.ShardID, sh *simShard, id protocol.EntityID, e *simEntity) {
	n.ended(id, e)
	n.stepShard(s, protocol.EntityStopped{ID: id})
	if len(e.mailbox) > 0 {
		n.wake(s, sh, id)
	} else if !e.alive {
		delete(sh.entities, id)
	}
}

func (n *simNode) ended(id protocol.EntityID, e *simEntity) {
	if e.alive && n.w.lives[id] == n.uid {
		delete(n.w.lives, id)
	}
	e.alive, e.closing, e.mark, e.pause = false, false, 0, false
}

// handle checks the order of what is handled.
func (w *world) handle(m simMsg) {
	if w.got[m.stream][m.n] {
		w.fail("message %d of %v is handled twice", m.n, m.stream)
	}
	if m.n < w.handled[m.stream] && !w.unordered[protocol.ShardOf(m.to, w.opt.shards)] {
		w.fail("message %d of %v is handled after %d", m.n, m.stream, w.handled[m.stream])
	}
	w.handled[m.stream] = max(m.n, w.handled[m.stream])
	w.got[m.stream][m.n] = true
}

func (n *simNode) shardAct(s protocol.ShardID, sh *simShard, a protocol.ShardAction) {
	switch a := a.(type) {
	case protocol.StartEntities:
		for _, id := range a.IDs {
			n.startEntity(s, sh, id)
		}
	case protocol.StopEntity:
		n.close(s, sh, a.ID)
	case protocol.ForceStop:
		n.force(s, sh, a.ID)
	case protocol.StopEntities:
		for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
			n.close(s, sh, id)
		}
	case protocol.ForceStopEntities:
		for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
			n.force(s, sh, id)
		}
	case protocol.DrainMailboxes:
		sh.drain = a.HandOff
		n.maybeEmpty(s, sh)
	default:
		n.w.fail("%T", a)
	}
}

func (n *simNode) startEntity(s protocol.ShardID, sh *simShard, id protocol.EntityID) {
	e := sh.entities[id]
	if e == nil {
		e = &simEntity{}
		sh.entities[id] = e
	}
	if !n.lease || !n.allowed(s, sh) {
		return
	}
	if at, ok := n.w.lives[id]; ok {
		n.w.fail("entity %v is started on %v and lives on %v", id, n.uid, at)
	}
	if e.alive {
		n.w.fail("entity %v is started twice on %v", id, n.uid)
	}
	n.w.lives[id] = n.uid
	e.alive = true
	n.work(s, sh, id, e)
}

// close stops an entity after what its mailbox holds.
func (n *simNode) close(s protocol.ShardID, sh *simShard, id protocol.EntityID) {
	e := sh.entities[id]
	if e == nil || !e.alive || e.closing {
		return
	}
	e.closing, e.mark = true, len(e.mailbox)
	if e.mark == 0 && !e.busy {
		n.w.after(n.w.between(0, 3*time.Millisecond), func() {
			if n.shards[s] == sh && e.alive && e.closing && e.mark == 0 && !e.busy {
				n.stopEntity(s, sh, id, e)
			}
		})
	}
}

// force stops an entity as soon as its handler returns.
func (n *simNode) force(s protocol.ShardID, sh *simShard, id protocol.EntityID) {
	e := sh.entities[id]
	if e == nil || !e.alive {
		return
	}
	e.closing, e.pause, e.mark = true, true, 0
	if !e.busy {
		n.stopEntity(s, sh, id, e)
	}
}

func (n *simNode) maybeEmpty(s protocol.ShardID, sh *simShard) {
	if sh.drain.IsZero() {
		return
	}
	for _, e := range sh.entities { // order: all are looked at
		if len(e.mailbox) > 0 || e.busy {
			return
		}
	}
	id := sh.drain
	sh.drain = protocol.Token{}
	n.w.after(0, func() {
		if n.shards[s] == sh {
			n.stepShard(s, protocol.MailboxesEmpty{HandOff: id})
		}
	})
}
