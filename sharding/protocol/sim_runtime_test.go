package protocol

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// tell is a user's message on this node.
func (n *simNode) tell(id EntityID) {
	st := stream{from: n.uid, to: id}
	n.w.sent[st]++
	n.w.got[st] = n.w.gotOf(st)
	n.route(ShardOf(id, n.w.opt.shards), simMsg{stream: st, n: n.w.sent[st]}, 0)
}

func (w *world) gotOf(st stream) map[int]bool {
	if w.got[st] == nil {
		w.got[st] = map[int]bool{}
	}
	return w.got[st]
}

// route is the data plane: from is the peer that brought the message, 0 for own senders.
func (n *simNode) route(s ShardID, m simMsg, from UID) {
	r := n.routes[s]
	local := r.State == RouteLocal || r.State == RouteDraining && from != 0
	if local && (from != 0 || len(n.buffers[s]) == 0) {
		n.push(s, m)
		return
	}
	if r.State == RouteRemote && len(n.buffers[s]) == 0 {
		n.forward(s, m, r.Home, from)
		return
	}
	n.buffers[s] = append(n.buffers[s], m)
	if len(n.buffers[s]) == 1 {
		n.post(Wanted{Shard: s})
	}
}

func (n *simNode) forward(s ShardID, m simMsg, to, from UID) {
	if from != 0 {
		m.hops++
		n.post(Misrouted{From: from, Shard: s})
	}
	if m.hops > 20 {
		n.w.lose("hops", 1)
		return
	}
	n.lane(to, m)
}

// lane sends a message or a fence to a peer, in order. While the lane is down messages wait in the
// sender; fences are lost with the connection.
func (n *simNode) lane(to UID, x any) {
	l := n.lanes[to]
	if l == nil {
		l = &simLane{}
		n.lanes[to] = l
	}
	if l.down {
		if _, fence := x.(Fence); !fence {
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

func (w *world) arrive(from *simNode, to UID, x any) {
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
	if f, ok := x.(Fence); ok {
		n.post(Receive{From: from.uid, Msg: f})
		return
	}
	n.route(ShardOf(m.to, w.opt.shards), m, from.uid)
}

// breakLink takes the lane to a peer down for a while.
func (n *simNode) breakLink(to UID) {
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
		n.post(LinkUp{Peer: to})
	})
}

func (n *simNode) act(a RegionAction) {
	switch a := a.(type) {
	case SetRoute:
		n.routes[a.Shard] = a.Route
	case FlushBuffer:
		n.flush(a.Shard)
	case DropBuffer:
		n.w.lose(a.Reason.String(), len(n.buffers[a.Shard]))
		delete(n.buffers, a.Shard)
	case SendFence:
		n.lane(a.To, Fence{Shard: a.Shard, HandOff: a.HandOff})
	case StartShard:
		m, err := NewShard(n.region.cfg, rand.New(rand.NewPCG(n.w.rng.Uint64(), 1)), a.Shard)
		if err != nil {
			panic(err)
		}
		if n.shards[a.Shard] != nil {
			n.w.fail("%v: shard %v is made twice", n.uid, a.Shard)
		}
		n.shards[a.Shard] = &simShard{m: m, entities: map[EntityID]*simEntity{}}
		n.stepShard(a.Shard, Open{Wait: a.Wait})
	case DrainShard:
		n.stepShard(a.Shard, Drain{HandOff: a.HandOff})
	case StopShard:
		n.passesOn(a.Shard, n.shards[a.Shard])
		n.stepShard(a.Shard, Stop{HandOff: a.HandOff, Force: a.Force})
	case ResumeShard:
		n.stepShard(a.Shard, Resume{})
	case CloseShard:
		if k := n.shards[a.Shard].writing; k > 0 {
			n.w.fail("%v: shard %v has stopped with %d writes outstanding", n.uid, a.Shard, k)
		}
		n.closeShard(a.Shard, "close")
	case KillShard:
		sh := n.shards[a.Shard]
		n.closeShard(a.Shard, a.Reason.String())
		n.retire(a.Shard, sh)
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

// flush empties the buffer along the route, in order.
func (n *simNode) flush(s ShardID) {
	ms := n.buffers[s]
	delete(n.buffers, s)
	r := n.routes[s]
	for _, m := range ms {
		if r.State == RouteRemote {
			n.forward(s, m, r.Home, 0)
		} else {
			n.push(s, m)
		}
	}
}

func (n *simNode) closeShard(s ShardID, why string) {
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
func (n *simNode) push(s ShardID, m simMsg) {
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

func (n *simNode) wake(s ShardID, sh *simShard, id EntityID) {
	n.w.after(n.w.between(0, time.Millisecond), func() {
		if n.shards[s] == sh {
			n.stepShard(s, Wake{ID: id})
		}
	})
}

// work handles the next message of an entity.
func (n *simNode) work(s ShardID, sh *simShard, id EntityID, e *simEntity) {
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

func (n *simNode) afterwards(s ShardID, sh *simShard, id EntityID, e *simEntity) {
	switch {
	case e.closing && (e.mark <= 0 || e.pause):
		n.stopEntity(s, sh, id, e)
	case !e.closing && n.w.chance(max(2, n.w.opt.passivate)) && len(e.mailbox) == 0:
		n.stepShard(s, Passivate{ID: id})
	case !e.closing && n.w.chance(1):
		n.stopEntity(s, sh, id, e) // it ends by itself
	default:
		n.work(s, sh, id, e)
	}
	n.maybeEmpty(s, sh)
}

// stopEntity ends the incarnation. What waits wakes the next one.
func (n *simNode) stopEntity(s ShardID, sh *simShard, id EntityID, e *simEntity) {
	n.ended(id, e)
	n.stepShard(s, EntityStopped{ID: id})
	if len(e.mailbox) > 0 {
		n.wake(s, sh, id)
	} else if !e.alive {
		delete(sh.entities, id)
	}
}

func (n *simNode) ended(id EntityID, e *simEntity) {
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
	if m.n < w.handled[m.stream] && !w.unordered[ShardOf(m.to, w.opt.shards)] {
		w.fail("message %d of %v is handled after %d", m.n, m.stream, w.handled[m.stream])
	}
	w.handled[m.stream] = max(m.n, w.handled[m.stream])
	w.got[m.stream][m.n] = true
}

func (n *simNode) shardAct(s ShardID, sh *simShard, a ShardAction) {
	switch a := a.(type) {
	case StartEntities:
		for _, id := range a.IDs {
			n.startEntity(s, sh, id)
		}
	case StopEntity:
		n.close(s, sh, a.ID)
	case ForceStop:
		n.force(s, sh, a.ID)
	case StopEntities:
		for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
			n.close(s, sh, id)
		}
	case ForceStopEntities:
		for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
			n.force(s, sh, id)
		}
	case DrainMailboxes:
		sh.drain = a.HandOff
		n.maybeEmpty(s, sh)
	default:
		n.w.fail("%T", a)
	}
}

func (n *simNode) startEntity(s ShardID, sh *simShard, id EntityID) {
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
func (n *simNode) close(s ShardID, sh *simShard, id EntityID) {
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
func (n *simNode) force(s ShardID, sh *simShard, id EntityID) {
	e := sh.entities[id]
	if e == nil || !e.alive {
		return
	}
	e.closing, e.pause, e.mark = true, true, 0
	if !e.busy {
		n.stopEntity(s, sh, id, e)
	}
}

func (n *simNode) maybeEmpty(s ShardID, sh *simShard) {
	if sh.drain.IsZero() {
		return
	}
	for _, e := range sh.entities { // order: all are looked at
		if len(e.mailbox) > 0 || e.busy {
			return
		}
	}
	id := sh.drain
	sh.drain = Token{}
	n.w.after(0, func() {
		if n.shards[s] == sh {
			n.stepShard(s, MailboxesEmpty{HandOff: id})
		}
	})
}
