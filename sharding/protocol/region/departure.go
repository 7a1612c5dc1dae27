package region

import (
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// departure is how far a region is on its way out.
//
// Invariants: each of the other fields implies leaving. A region that has left hosts nothing.
type departure struct {
	*env
	registration *registration

	leaving, left bool
	released      bool // leaving, and the coordinator will not send anything here any more
	alone         bool // leaving, and no other region can take the shards
	quits         bool // alone, because what is here shall end at once
	wasEmpty      bool // leaving, and nothing was hosted here after the Step before
}

// noHome returns the reason to drop messages for a shard that no region takes.
func (d *departure) noHome() protocol.Reason {
	switch {
	case d.closing():
		return protocol.DropEnded
	case d.quits || !d.registration.joined:
		return protocol.DropStopped
	}
	return protocol.DropNoHome
}

// owesLeft reports whether the coordinator may still take this region, which has stopped its shards
// by itself, for their home.
func (d *departure) owesLeft() bool {
	return d.left && d.alone && !d.released && d.registration.coordinator != 0
}

// leaveRequest asks for the next homes of what is here, or says that nothing is.
func (d *departure) leaveRequest() protocol.LeaveRequest {
	return protocol.LeaveRequest{Left: d.left, Closing: d.left && d.closing(), Life: d.registration.life}
}

// maybeGiveUp drops what waits in a leaving region that was never registered, if no coordinator
// will register it now.
func (r *Region) maybeGiveUp() {
	if !r.departure.leaving || r.registration.joined || !r.registration.absent &&
		(r.registration.coordinator == 0 || r.registration.refusedBy != r.registration.coordinator) {
		return
	}
	r.places.visitActive(func(s protocol.ShardID, p *place) { r.places.dropBuffer(s, p, r.departure.noHome()) })
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
	r.places.visitActive(func(s protocol.ShardID, p *place) {
		if p.hosts() {
			r.places.setPhase(p, protocol.PhaseStopping)
			r.places.dropBuffer(s, p, r.departure.noHome())
			r.do(protocol.StopShard{Shard: s, HandOff: r.places.moves[s].id, Force: true})
			r.places.publish(s, p)
		}
	})
}

// becomeAlone stops everything here, where it is: no other region can take it, or none may.
func (r *Region) becomeAlone() {
	if r.departure.alone {
		return
	}
	r.departure.alone = true
	r.places.visitKnown(func(s protocol.ShardID, p *place) {
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
	})
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
