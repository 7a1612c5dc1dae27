package region

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onInstall takes a view. Routes to nodes that are gone are forgotten, and their fences are not
// awaited any more. A coordinator that does not know this region is told of it at once.
func (r *Region) onInstall(v *view.View) {
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
	if r.registration.follow(v) {
		r.asker.asking = false
		r.tries = 0
		r.retryAt = time.Time{}
	}
	if r.departure.leaving && !r.departure.left && r.closing() {
		r.becomeAlone()
	}
	if r.registration.over() {
		for i := range r.places.shards {
			r.places.dropBuffer(protocol.ShardID(i), &r.places.shards[i], protocol.DropEnded)
		}
	}
	for i := range r.places.shards {
		r.places.maybeOpen(protocol.ShardID(i), &r.places.shards[i])
		r.places.publish(protocol.ShardID(i), &r.places.shards[i])
	}
	for _, s := range slices.Sorted(maps.Keys(r.places.moves)) {
		g := r.places.moves[s]
		g.need = slices.DeleteFunc(g.need, func(u protocol.UID) bool { return r.places.gone(u, g.id) })
		r.places.maybeDrain(s, &r.places.shards[s])
	}
	if r.registration.mayRegister(r.departure.left) && r.retryAt.IsZero() {
		r.retry()
	}
}

// onAbsent hears from the coordinator's node that the type was not started there, and says so once.
func (r *Region) onAbsent(from protocol.UID) {
	if from != r.registration.coordinator || r.registration.known {
		r.countIgnored()
		return
	}
	if !r.registration.absent {
		r.registration.absent = true
		r.notify(protocol.Event{Kind: protocol.CoordinatorAbsent, Peer: from})
	}
	r.maybeGiveUp()
}

// maybeGiveUp drops what waits in a leaving region that was never registered, if no coordinator
// will register it now.
func (r *Region) maybeGiveUp() {
	if !r.departure.leaving || r.registration.joined || !r.registration.absent &&
		(r.registration.coordinator == 0 || r.registration.refusedBy != r.registration.coordinator) {
		return
	}
	for i := range r.places.shards {
		r.places.dropBuffer(protocol.ShardID(i), &r.places.shards[i], r.departure.noHome())
	}
}

func (r *Region) onRegistered(from protocol.UID, m protocol.Registered) {
	if m.Life != r.registration.life {
		r.counts[protocol.CountLate]++
		return
	}
	if !r.registration.raiseFloor(from, m.Floor) {
		return
	}
	if len(m.Moves) > 0 {
		r.places.onBegin(from, m.Moves, nil)
	}
	// it left before it heard this, so it has not confirmed and was given nothing
	if r.departure.left && !r.registration.counted {
		r.send(from, r.departure.leaveRequest())
		return
	}
	r.registration.counted = true
	r.send(from, protocol.Confirm{Life: r.registration.life})
	r.join(from, m.Since)
}

// onRefused says, once for each coordinator, why this region is not registered. It goes on trying:
// the other side may be the one that is started anew.
func (r *Region) onRefused(from protocol.UID, m protocol.Refused) {
	outranked := m.Compatibility.Role != r.cfg.Role // then also what it has registered is refused
	if from != r.registration.coordinator || r.registration.known && !outranked || r.registration.refusedBy == from {
		r.countIgnored()
		return
	}
	r.registration.refusedBy = from
	if outranked {
		r.onOutranked()
	}
	own, me := r.cfg.Compatibility(), view.Member{}
	if r.view != nil {
		me, _ = r.view.Member(r.self())
	}
	r.notify(protocol.Event{
		Kind: protocol.TypeMismatch, Peer: from,
		Text: own.Differences(m.Compatibility.ForRegion(own, me, r.cfg.Role, r.cfg.Proxy), "with the coordinator"),
	})
	r.maybeGiveUp()
}

// onOutranked ends what this region hosts: the type runs under another role, so every entity of it
// would live twice.
func (r *Region) onOutranked() {
	r.registration.known = false
	for i := range r.places.shards {
		if p := &r.places.shards[i]; p.hosts() {
			r.places.kill(protocol.ShardID(i), p, protocol.DropHomeElsewhere)
			p.home = 0
			r.places.publish(protocol.ShardID(i), p)
		}
	}
}

// join notes that a coordinator knows this region. The first one ever opens the routes to other
// nodes.
func (r *Region) join(from protocol.UID, since protocol.Token) {
	if !r.registration.joined {
		r.registration.joined, r.registration.since = true, since
		for i := range r.places.shards {
			r.places.shards[i].doubt = r.registration.doubts(r.places.shards[i].token)
		}
		r.places.publishAll()
	}
	if from != r.registration.coordinator || r.registration.known {
		return
	}
	r.registration.known, r.registration.absent = true, false
	r.loads = loads{}
	r.tries = 0
	r.asker.askAll(&r.places, false)
	r.stopper.askStops()
	if r.departure.leaving && !r.departure.left {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
}

// onInquire answers a new coordinator with all that is hosted here, in parts. It does not register:
// until the coordinator has settled what it finds, hand-offs of the one before may be in progress
// without this region.
func (r *Region) onInquire(from protocol.UID, m protocol.Inquire) {
	if m.Role != r.cfg.Role {
		r.registration.sayRole(from)
		return
	}
	if !r.registration.raiseFloor(from, m.Floor) {
		return
	}
	r.registration.counted = r.registration.counted || !r.departure.left
	var hs []protocol.Hosted
	for i := range r.places.shards {
		p := &r.places.shards[i]
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
			Floor: m.Floor, Proxy: r.cfg.Proxy, Leaving: r.departure.leaving, Left: r.departure.left,
			Life: r.registration.life, Part: uint32(i), Parts: uint32(parts),
			Compatibility: r.cfg.Compatibility(), Shards: part,
		})
	}
}

func (r *Region) onLeave() {
	if r.departure.leaving {
		return
	}
	r.departure.leaving = true
	if r.closing() {
		r.becomeAlone()
		return
	}
	r.maybeGiveUp()
	if r.registration.known && r.places.hosted+r.places.stopped > 0 {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
}

// onLeaveReply stops everything here when no other region can take it. No region has to be fenced,
// or none would send anything on.
func (r *Region) onLeaveReply(m protocol.LeaveReply) {
	if m.Life != r.registration.life || m.Floor.Less(r.registration.floor) && !r.cfg.Planted(defect.NoTokenCheck) {
		r.counts[protocol.CountLate]++
		return
	}
	r.departure.released = r.departure.released || m.Done && r.departure.leaving
	if m.Alone && r.departure.leaving && !r.departure.left {
		r.becomeAlone()
	}
}

// onQuit stops everything here by force, and tells the coordinator when nothing runs any more.
func (r *Region) onQuit() {
	if r.departure.left || r.departure.quits {
		return
	}
	r.departure.leaving, r.departure.quits = true, true
	r.becomeAlone()
	for i := range r.places.shards {
		s, p := protocol.ShardID(i), &r.places.shards[i]
		if p.hosts() {
			r.places.setPhase(p, protocol.PhaseStopping)
			r.places.dropBuffer(s, p, r.departure.noHome())
			r.do(protocol.StopShard{Shard: s, HandOff: r.places.moves[s].id, Force: true})
			r.places.publish(s, p)
		}
	}
}

// becomeAlone stops everything here, where it is: no other region can take it, or none may.
func (r *Region) becomeAlone() {
	if r.departure.alone {
		return
	}
	r.departure.alone = true
	for i := range r.places.shards {
		s, p := protocol.ShardID(i), &r.places.shards[i]
		switch p.phase {
		case protocol.PhaseStarting, protocol.PhaseRunning, protocol.PhaseFencing:
			id := p.host
			if g := r.places.moves[s]; g != nil {
				id = g.id
			}
			r.places.moves[s] = &giveUp{id: id}
			if p.phase == protocol.PhaseRunning {
				r.places.setPhase(p, protocol.PhaseFencing)
			}
			r.places.maybeDrain(s, p)
		case protocol.PhaseStopped:
			r.places.setPhase(p, protocol.PhaseNone)
			delete(r.places.moves, s)
			p.home = 0
			r.places.publish(s, p)
		}
		if !p.hosts() {
			r.places.dropBuffer(s, p, r.departure.noHome())
		}
		r.places.publish(s, p)
	}
}

// maybeEmpty tells the coordinator without delay that a leaving region seems to have nothing left.
func (r *Region) maybeEmpty() {
	empty := r.places.hosted == 0 && r.places.stopped == 0
	if r.departure.leaving && r.registration.known && empty && !r.departure.wasEmpty &&
		!r.departure.released && !r.departure.alone {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
	r.departure.wasEmpty = empty && r.departure.leaving
}

// maybeLeft ends a leaving region that has nothing left to give. It stays, to answer. A region on
// which no coordinator counts asks none: it was given nothing, and will not be.
func (r *Region) maybeLeft() {
	if !r.departure.leaving || r.departure.left || r.dropped || r.places.hosted > 0 ||
		r.places.stopped > 0 || r.places.wanted > 0 {
		return
	}
	if !r.departure.released && !r.departure.alone && !r.cfg.Proxy && r.registration.counted {
		return
	}
	r.departure.left = true
	r.fx.Left = true
	if r.departure.owesLeft() {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
}

func (r *Region) onTick() {
	if !r.asker.askAt.IsZero() && !r.now.Before(r.asker.askAt) {
		r.asker.sendAsks(&r.places)
	}
	if !r.retryAt.IsZero() && !r.now.Before(r.retryAt) {
		r.counts[protocol.CountRetries]++
		r.retry()
	}
}

// retry repeats everything that has not been answered.
func (r *Region) retry() {
	r.retryAt = time.Time{}
	r.asker.asking = false
	if r.registration.mayRegister(r.departure.left) {
		r.send(r.registration.coordinator, protocol.Register{
			Proxy: r.cfg.Proxy, Leaving: r.departure.leaving, Joined: r.registration.joined, Life: r.registration.life,
			Compatibility: r.cfg.Compatibility(),
		})
	}
	if r.places.wanted > 0 {
		r.asker.askAll(&r.places, true)
	}
	if r.registration.coordinator == 0 {
		return
	}
	if r.places.stopped > 0 {
		r.places.sendStopped()
	}
	r.stopper.askStops()
	if r.departure.leaving && !r.departure.left || r.departure.owesLeft() {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
}

func (ps *places) sendStopped() {
	var sts []protocol.ShardToken
	for i := range ps.shards {
		if ps.shards[i].phase == protocol.PhaseStopped {
			sts = append(sts, protocol.ShardToken{Shard: protocol.ShardID(i), Token: ps.moves[protocol.ShardID(i)].id})
		}
	}
	for chunk := range slices.Chunk(sts, protocol.BatchMax) {
		ps.send(ps.registration.coordinator, protocol.ShardsStopped{Shards: chunk})
	}
}

// arm sets the time of the next repetition while something is unanswered. The pauses double up to
// RetryInterval, with a little jitter so that a thousand regions do not speak at once.
func (r *Region) arm() {
	waits := r.registration.mayRegister(r.departure.left) || r.places.wanted > 0 || r.places.stopped > 0 ||
		len(r.stopper.stops) > 0 || r.departure.leaving && !r.departure.left || r.departure.owesLeft()
	switch {
	case !waits || r.dropped:
		r.retryAt, r.tries = time.Time{}, 0
	case r.retryAt.IsZero():
		pause := timer.Backoff(r.cfg.Coordination.RetryInterval/8, r.cfg.Coordination.RetryInterval, r.tries)
		r.retryAt = r.now.Add(pause + time.Duration(r.rng.Int64N(int64(pause)/8+1)))
		r.tries++
	}
}
