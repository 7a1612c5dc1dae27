package region

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onInstall takes a view. Routes to nodes that are gone are forgotten, and their fences are not
// awaited any more. A coordinator that does not know this region is told of it at once.
func (r *Region) onInstall(v *membership.View) {
	if r.view != nil && v.Epoch <= r.view.Epoch {
		r.counts[protocol.CountStale]++
		return
	}
	was := r.view
	r.view = v
	if was != nil && was.Has(r.self()) && !v.Has(r.self()) {
		r.onDropped()
		return
	}
	if o, ok := v.Oldest(r.cfg.Role); !ok || o.UID != r.coordinator {
		r.coordinator, r.known, r.asking, r.absent = o.UID, false, false, false
		r.backoff = r.cfg.RetryInterval / 8
		r.retryAt = time.Time{}
	}
	if r.leaving && !r.left && r.closing() {
		r.becomeAlone()
	}
	if r.over() {
		for i := range r.shards {
			r.dropBuffer(protocol.ShardID(i), &r.shards[i], protocol.DropEnded)
		}
	}
	for i := range r.shards {
		r.maybeOpen(protocol.ShardID(i), &r.shards[i])
		r.publish(protocol.ShardID(i), &r.shards[i])
	}
	for _, s := range slices.Sorted(maps.Keys(r.moves)) {
		g := r.moves[s]
		g.need = slices.DeleteFunc(g.need, func(u protocol.UID) bool { return r.gone(u, g.id) })
		r.maybeDrain(s, &r.shards[s])
	}
	if r.mayRegister() && r.retryAt.IsZero() {
		r.retry()
	}
}

// onAbsent hears from the coordinator's node that the type was not started there, and says so once.
func (r *Region) onAbsent(from protocol.UID) {
	if from != r.coordinator || r.known {
		r.countIgnored()
		return
	}
	if !r.absent {
		r.absent = true
		r.notify(protocol.Event{Kind: protocol.CoordinatorAbsent, Peer: from})
	}
	r.maybeGiveUp()
}

// maybeGiveUp drops what waits in a leaving region that was never registered, if no coordinator
// will register it now.
func (r *Region) maybeGiveUp() {
	if !r.leaving || r.joined || !r.absent && (r.coordinator == 0 || r.refusedBy != r.coordinator) {
		return
	}
	for i := range r.shards {
		r.dropBuffer(protocol.ShardID(i), &r.shards[i], r.noHome())
	}
}

// mayRegister reports whether there is a coordinator to tell, and whether it would listen: it
// registers Up and Leaving members. A region that has left without ever being registered does not
// begin with it.
func (r *Region) mayRegister() bool {
	if r.view == nil || r.known || r.coordinator == 0 || r.left && !r.counted {
		return false
	}
	m, ok := r.view.Member(r.self())
	return ok && m.Status != membership.Joining
}

func (r *Region) onRegistered(from protocol.UID, m protocol.Registered) {
	if m.Life != r.life {
		r.counts[protocol.CountLate]++
		return
	}
	if !r.raiseFloor(from, m.Floor) {
		return
	}
	if len(m.Moves) > 0 {
		r.onBegin(from, m.Moves, nil)
	}
	if r.left && !r.counted { // it left before it heard this, so it has not confirmed and was given nothing
		r.send(from, r.leaveRequest())
		return
	}
	r.counted = true
	r.send(from, protocol.Confirm{Life: r.life})
	r.join(from, m.Since)
}

// onRefused says, once for each coordinator, why this region is not registered. It goes on trying:
// the other side may be the one that is started anew.
func (r *Region) onRefused(from protocol.UID, m protocol.Refused) {
	outranked := m.Compatibility.Role != r.cfg.Role // then also what it has registered is refused
	if from != r.coordinator || r.known && !outranked || r.refusedBy == from {
		r.countIgnored()
		return
	}
	r.refusedBy = from
	if outranked {
		r.onOutranked()
	}
	own, me := r.cfg.Compatibility(), membership.Member{}
	if r.view != nil {
		me, _ = r.view.Member(r.self())
	}
	r.notify(protocol.Event{Kind: protocol.TypeMismatch, Peer: from, Text: own.Differences(m.Compatibility.ForRegion(own, me, r.cfg.Role, r.cfg.Proxy), "with the coordinator")})
	r.maybeGiveUp()
}

// onOutranked ends what this region hosts: the type runs under another role, so every entity of it
// would live twice.
func (r *Region) onOutranked() {
	r.known = false
	for i := range r.shards {
		if p := &r.shards[i]; p.hosts() {
			r.kill(protocol.ShardID(i), p, protocol.DropHomeElsewhere)
			p.home = 0
			r.publish(protocol.ShardID(i), p)
		}
	}
}

// raiseFloor refuses what a deposed coordinator says, and from now on those before this one.
func (r *Region) raiseFloor(from protocol.UID, floor protocol.Token) bool {
	if floor.Less(r.floor) && !r.cfg.Defects.NoTokenCheck {
		r.counts[protocol.CountStale]++
		return false
	}
	r.floor = floor
	return true
}

// join notes that a coordinator knows this region. The first one ever opens the routes to other
// nodes.
func (r *Region) join(from protocol.UID, since protocol.Token) {
	if !r.joined {
		r.joined, r.since = true, since
		for i := range r.shards {
			r.shards[i].doubt = r.doubts(r.shards[i].token)
		}
		r.publishAll()
	}
	if from != r.coordinator || r.known {
		return
	}
	r.known, r.absent = true, false
	r.reported, r.measured = nil, 0
	r.backoff = r.cfg.RetryInterval / 8
	r.askAll(false)
	r.askStops()
	if r.leaving && !r.left {
		r.send(r.coordinator, r.leaveRequest())
	}
}

// onInquire answers a new coordinator with all that is hosted here, in parts. It does not register:
// until the coordinator has settled what it finds, hand-offs of the one before may be in progress
// without this region.
func (r *Region) onInquire(from protocol.UID, m protocol.Inquire) {
	if m.Role != r.cfg.Role {
		r.sayRole(from)
		return
	}
	if !r.raiseFloor(from, m.Floor) {
		return
	}
	r.counted = r.counted || !r.left
	var hs []protocol.Hosted
	for i := range r.shards {
		p := &r.shards[i]
		h := protocol.Hosted{Shard: protocol.ShardID(i), Phase: p.phase}
		if p.hosts() {
			h.Token = p.host
		}
		if p.held() {
			h.Barrier = p.barrier
		}
		if h.Phase != protocol.PhaseNone || !h.Barrier.IsZero() {
			hs = append(hs, h)
		}
	}
	parts := max(1, (len(hs)+protocol.BatchMax-1)/protocol.BatchMax)
	for i := range parts {
		part := hs[i*protocol.BatchMax : min(len(hs), (i+1)*protocol.BatchMax)]
		r.send(from, protocol.Report{
			Floor: m.Floor, Proxy: r.cfg.Proxy, Leaving: r.leaving, Left: r.left, Life: r.life, Part: uint32(i), Parts: uint32(parts),
			Compatibility: r.cfg.Compatibility(), Shards: part,
		})
	}
}

// sayRole tells a coordinator of another role under which role the type runs here.
func (r *Region) sayRole(to protocol.UID) {
	r.send(to, protocol.Compared{Runs: true, Role: r.cfg.Role, Joined: r.joined, Coordinator: r.coordinator})
}

func (r *Region) onLeave() {
	if r.leaving {
		return
	}
	r.leaving = true
	if r.closing() {
		r.becomeAlone()
		return
	}
	r.maybeGiveUp()
	if r.known && r.hosted+r.stopped > 0 {
		r.send(r.coordinator, r.leaveRequest())
	}
}

// onLeaveReply stops everything here when no other region can take it. No region has to be fenced,
// or none would send anything on.
func (r *Region) onLeaveReply(m protocol.LeaveReply) {
	if m.Life != r.life || m.Floor.Less(r.floor) && !r.cfg.Defects.NoTokenCheck {
		r.counts[protocol.CountLate]++
		return
	}
	r.released = r.released || m.Done && r.leaving
	if m.Alone && r.leaving && !r.left {
		r.becomeAlone()
	}
}

// closing reports whether the whole cluster shuts down.
func (r *Region) closing() bool { return r.view != nil && r.view.Closing }

// over reports whether the whole cluster has shut down, except nodes without the role. No
// coordinator is left to say it of single shards.
func (r *Region) over() bool { return r.closing() && r.coordinator == 0 }

// noHome returns the reason to drop messages for a shard that no region takes.
func (r *Region) noHome() protocol.Reason {
	switch {
	case r.closing():
		return protocol.DropEnded
	case r.quits || !r.joined:
		return protocol.DropStopped
	}
	return protocol.DropNoHome
}

// onQuit stops everything here by force, and tells the coordinator when nothing runs any more.
func (r *Region) onQuit() {
	if r.left || r.quits {
		return
	}
	r.leaving, r.quits = true, true
	r.becomeAlone()
	for i := range r.shards {
		s, p := protocol.ShardID(i), &r.shards[i]
		if p.hosts() {
			r.setPhase(p, protocol.PhaseStopping)
			r.dropBuffer(s, p, r.noHome())
			r.do(protocol.StopShard{Shard: s, HandOff: r.moves[s].id, Force: true})
			r.publish(s, p)
		}
	}
}

// becomeAlone stops everything here, where it is: no other region can take it, or none may.
func (r *Region) becomeAlone() {
	if r.alone {
		return
	}
	r.alone = true
	for i := range r.shards {
		s, p := protocol.ShardID(i), &r.shards[i]
		switch p.phase {
		case protocol.PhaseStarting, protocol.PhaseRunning, protocol.PhaseFencing:
			id := p.host
			if g := r.moves[s]; g != nil {
				id = g.id
			}
			r.moves[s] = &giveUp{id: id}
			if p.phase == protocol.PhaseRunning {
				r.setPhase(p, protocol.PhaseFencing)
			}
			r.maybeDrain(s, p)
		case protocol.PhaseStopped:
			r.setPhase(p, protocol.PhaseNone)
			delete(r.moves, s)
			p.home = 0
			r.publish(s, p)
		}
		if !p.hosts() {
			r.dropBuffer(s, p, r.noHome())
		}
		r.publish(s, p)
	}
}

// maybeEmpty tells the coordinator without delay that a leaving region seems to have nothing left.
func (r *Region) maybeEmpty() {
	empty := r.hosted == 0 && r.stopped == 0
	if r.leaving && r.known && empty && !r.wasEmpty && !r.released && !r.alone {
		r.send(r.coordinator, r.leaveRequest())
	}
	r.wasEmpty = empty && r.leaving
}

// maybeLeft ends a leaving region that has nothing left to give. It stays, to answer. A region on
// which no coordinator counts asks none: it was given nothing, and will not be.
func (r *Region) maybeLeft() {
	if !r.leaving || r.left || r.dropped || r.hosted > 0 || r.stopped > 0 || r.wanted > 0 {
		return
	}
	if !r.released && !r.alone && !r.cfg.Proxy && r.counted {
		return
	}
	r.left = true
	r.fx.Left = true
	if r.owesLeft() {
		r.send(r.coordinator, r.leaveRequest())
	}
}

// owesLeft reports whether the coordinator may still take this region, which has stopped its shards
// by itself, for their home.
func (r *Region) owesLeft() bool { return r.left && r.alone && !r.released && r.coordinator != 0 }

// leaveRequest asks for the next homes of what is here, or says that nothing is.
func (r *Region) leaveRequest() protocol.LeaveRequest {
	return protocol.LeaveRequest{Left: r.left, Closing: r.left && r.closing(), Life: r.life}
}

func (r *Region) onTick() {
	if !r.askAt.IsZero() && !r.now.Before(r.askAt) {
		r.sendAsks()
	}
	if !r.retryAt.IsZero() && !r.now.Before(r.retryAt) {
		r.counts[protocol.CountRetries]++
		r.retry()
	}
}

// retry repeats everything that has not been answered.
func (r *Region) retry() {
	r.retryAt = time.Time{}
	r.asking = false
	if r.mayRegister() {
		r.send(r.coordinator, protocol.Register{Proxy: r.cfg.Proxy, Leaving: r.leaving, Joined: r.joined, Life: r.life, Compatibility: r.cfg.Compatibility()})
	}
	if r.wanted > 0 {
		r.askAll(true)
	}
	if r.coordinator == 0 {
		return
	}
	if r.stopped > 0 {
		r.sendStopped()
	}
	r.askStops()
	if r.leaving && !r.left || r.owesLeft() {
		r.send(r.coordinator, r.leaveRequest())
	}
}

func (r *Region) sendStopped() {
	var sts []protocol.ShardToken
	for i := range r.shards {
		if r.shards[i].phase == protocol.PhaseStopped {
			sts = append(sts, protocol.ShardToken{Shard: protocol.ShardID(i), Token: r.moves[protocol.ShardID(i)].id})
		}
	}
	for chunk := range slices.Chunk(sts, protocol.BatchMax) {
		r.send(r.coordinator, protocol.ShardsStopped{Shards: chunk})
	}
}

// arm sets the time of the next repetition while something is unanswered. The pauses double up to
// RetryInterval, with a little jitter so that a thousand regions do not speak at once.
func (r *Region) arm() {
	waits := r.mayRegister() || r.wanted > 0 || r.stopped > 0 || len(r.stops) > 0 || r.leaving && !r.left || r.owesLeft()
	switch {
	case !waits || r.dropped:
		r.retryAt, r.backoff = time.Time{}, r.cfg.RetryInterval/8
	case r.retryAt.IsZero():
		r.retryAt = r.now.Add(r.backoff + time.Duration(r.rng.Int64N(int64(r.backoff)/8+1)))
		r.backoff = min(2*r.backoff, r.cfg.RetryInterval)
	}
}
