package region

import (
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// registration is what a region knows of coordinators: which one is in charge, whether that knows
// this region, and which commands are too old to obey.
//
// Invariants: known implies joined. counted never ends. The floor only grows.
type registration struct {
	*env
	life        uint32         // how many regions the node had before this one
	coordinator protocol.UID   // the member that the view has in charge of the type; 0: none
	absent      bool           // the type was closed there, and not started again
	roleGone    bool           // no member of the view with the role is or was Up
	failing     failing        // what it says of its state
	floor       protocol.Token // commands below it come from deposed coordinators
	known       bool           // the coordinator of the view knows this region
	refusedBy   protocol.UID   // the coordinator that did last
	joined      bool           // some coordinator has known it; only grows
	counted     bool           // some coordinator may count on it, since it has confirmed or reported; only grows
	since       protocol.Token // of the first registration: decisions up to it were made without this region
	answers     uint32         // to Inquire
}

// failing is what a coordinator has said of its state, which it cannot read or write. It counts for
// failingRetries repetitions of a question, of which each would be answered with it.
type failing struct {
	why     string // empty: nothing
	retries int    // for which it counts
}

const failingRetries = 3

// repeated notes that what waits for the coordinator is asked for again.
func (f *failing) repeated() {
	if f.retries--; f.retries <= 0 {
		*f = failing{}
	}
}

// follow notes the coordinator of a new view, and reports whether the region has to register there: it is another
// one, or it has not been told yet of all that must be alike, because members of the view before could not read it.
func (rg *registration) follow(was, v *view.View) (anew bool) {
	_, some := v.Oldest(rg.cfg.Role)
	rg.roleGone = !some
	o, ok := v.InCharge(rg.cfg.Service())
	own := rg.cfg.Compatibility()
	untold := was != nil && own.ReadBy(was) != own.ReadBy(v)
	if ok && o.UID == rg.coordinator && !untold {
		return false
	}
	rg.coordinator, rg.known, rg.absent, rg.failing = o.UID, false, false, failing{}
	if untold {
		rg.refusedBy = 0
	}
	return true
}

// raiseFloor refuses what a deposed coordinator says, and from now on those before this one.
func (rg *registration) raiseFloor(from protocol.UID, floor protocol.Token) bool {
	if floor.Less(rg.floor) && !rg.cfg.Planted(defect.NoTokenCheck) {
		rg.counts[protocol.CountStale]++
		return false
	}
	rg.floor = floor
	return true
}

// mayRegister reports whether there is a coordinator to tell, and whether it would listen: it
// registers Up and Leaving members. A region that has left without ever being registered does not
// begin with it.
func (rg *registration) mayRegister(left bool) bool {
	if rg.view == nil || rg.known || rg.coordinator == 0 || left && !rg.counted {
		return false
	}
	m, ok := rg.view.Member(rg.self())
	return ok && m.Status != view.Joining
}

// over reports whether the whole cluster has shut down, except nodes without the role. No
// coordinator is left to say it of single shards.
func (rg *registration) over() bool { return rg.closing() && rg.roleGone }

// sayRole tells a coordinator of another role under which role the type runs here.
func (rg *registration) sayRole(to protocol.UID) {
	rg.send(to, protocol.Compared{Runs: true, Role: rg.cfg.Role, Joined: rg.joined, Coordinator: rg.coordinator})
}

// doubts reports whether an entry may have been overtaken without this region: it is older than its
// registration, or than the coordinator, from whom it should have come.
func (rg *registration) doubts(t protocol.Token) bool { return !rg.since.Less(t) || t.Less(rg.floor) }

// beforeMe reports whether a command may have been for an earlier region of this node, whose shards
// may have gone elsewhere since.
func (rg *registration) beforeMe(t protocol.Token) bool {
	return rg.life > 0 && (!rg.joined || !rg.since.Less(t)) && !rg.cfg.Planted(defect.NoTokenCheck)
}

// onAbsent hears from the coordinator's node that no coordinator is there, and says so once.
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

// onStateFailing keeps what the coordinator says of its state.
func (rg *registration) onStateFailing(from protocol.UID, m protocol.StateFailing) {
	if from != rg.coordinator {
		rg.countIgnored()
		return
	}
	rg.failing = failing{why: m.Why, retries: failingRetries}
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
	r.places.visitActive(func(s protocol.ShardID, p *place) {
		if p.hosts() {
			r.places.kill(s, p, protocol.DropHomeElsewhere)
			p.home = 0
			r.places.publish(s, p)
		}
	})
}

// join notes that a coordinator knows this region. The first one ever opens the routes to other
// nodes.
func (r *Region) join(from protocol.UID, since protocol.Token) {
	if !r.registration.joined {
		r.registration.joined, r.registration.since = true, since
		r.places.visitKnown(func(s protocol.ShardID, p *place) {
			p.doubt = r.registration.doubts(p.token)
			r.places.publish(s, p)
		})
	}
	if from != r.registration.coordinator || r.registration.known {
		return
	}
	r.registration.known, r.registration.absent, r.registration.failing = true, false, failing{}
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
	r.places.visitActive(func(s protocol.ShardID, p *place) {
		h := protocol.Hosted{Shard: s, Phase: p.phase}
		if p.hosts() {
			h.Token = p.host
		}
		if p.held() {
			h.Barrier = p.barrier
		}
		if h.Phase != protocol.PhaseNone || !h.Barrier.IsZero() {
			hs = append(hs, h)
		}
	})
	r.registration.answers++
	parts := max(1, (len(hs)+protocol.BatchMax-1)/protocol.BatchMax)
	for i := range parts {
		part := hs[i*protocol.BatchMax : min(len(hs), (i+1)*protocol.BatchMax)]
		r.send(from, protocol.Report{
			Floor: m.Floor, Proxy: r.cfg.Proxy, Leaving: r.departure.leaving, Left: r.departure.left,
			Life: r.registration.life, Answer: r.registration.answers, Part: uint32(i), Parts: uint32(parts),
			Compatibility: r.cfg.Compatibility().ReadBy(r.view), Shards: part,
		})
	}
}
