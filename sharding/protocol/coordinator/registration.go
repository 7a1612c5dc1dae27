package coordinator

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// registrar takes regions in and lets them go. A region that is registered routes, one that has
// confirmed it is given shards, and one that leaves has its shards moved away.
type registrar struct {
	*env
	floor protocol.Token // of this term; every region of the view refuses what is below
}

// onRegister joins a region or proxy. It is told so when a majority knows it, because from then on
// it routes: each later coordinator must make it fence. It reports whether more can be allocated now.
func (rg *registrar) onRegister(h *homes, from protocol.UID, r protocol.Register) (changed bool) {
	m, ok := rg.view.Member(from)
	if !ok || m.Status == view.Joining {
		rg.counts[protocol.CountIgnored]++
		return false
	}
	if rg.sayMismatch(m, r.Proxy, r.Compatibility) {
		h.out.send(from, protocol.Refused{Compatibility: rg.cfg.Compatibility().ReadBy(rg.view)})
		return false
	}
	delete(rg.absent, from)
	said := peer{
		uid: from, life: r.Life, joined: r.Joined, proxy: r.Proxy || !m.HasRole(rg.cfg.Role), leaving: r.Leaving ||
			m.Status == view.Leaving,
	}
	if p := h.regions.peers[from]; p != nil {
		return rg.registerAgain(h, p, said)
	}
	h.regions.peers[from] = &said
	h.out.writeRegions([]protocol.UID{from}, nil)
	return false
}

// registerAgain takes the word of a member that is registered: of the same region, or of a later
// one, if the type was started again there. It reports whether it is a later one.
func (rg *registrar) registerAgain(h *homes, p *peer, said peer) (later bool) {
	if said.life < p.life {
		rg.counts[protocol.CountLate]++
		return false
	}
	later = said.life > p.life
	if later {
		p.life, p.proxy, p.leaving, p.left, p.sure = said.life, said.proxy, said.leaving, false, false
		h.picture.regionsChanged(rg.now)
	}
	p.joined = said.joined
	if p.acked {
		rg.welcome(h, p)
	}
	if !p.joined {
		rg.rehost(h, p)
	}
	return later
}

// onRegionWritten welcomes a region that a majority knows.
func (rg *registrar) onRegionWritten(h *homes, u protocol.UID) {
	p := h.regions.peers[u]
	if p == nil || p.acked {
		return
	}
	p.acked = true
	h.picture.regionsChanged(rg.now)
	rg.welcome(h, p)
}

// welcome tells a region that it is registered, and in the same message of the hand-offs in
// progress, for which it must buffer from the first: their audience does not hold it. With more of
// them than a message takes it has to ask again. One that joins for the first time learns of all
// homes.
func (rg *registrar) welcome(h *homes, p *peer) {
	m := protocol.Registered{
		Floor: rg.floor, Since: protocol.Token{
			Epoch: uint64(rg.view.Epoch), Up: rg.me.UpNumber, Seq: rg.seq,
		}, Life: p.life,
	}
	for _, s := range slices.Sorted(maps.Keys(h.moves)) {
		if h.shards[s].home != p.uid {
			m.Moves = append(m.Moves, h.asMove(s))
		}
	}
	if len(m.Moves) > protocol.MovesMax {
		return
	}
	h.out.send(p.uid, m)
	p.told = rg.ticks
	if p.joined {
		return
	}
	for i := range h.shards {
		if st := &h.shards[i]; st.state == stateHosting || st.state == stateHosted {
			h.out.home(p.uid, protocol.Entry{Shard: protocol.ShardID(i), Home: st.home, Token: st.token})
		}
	}
}

// onConfirm notes that a region knows that it is registered. From now on it may be given shards.
// Before that it could leave without asking, and a shard that it was given meanwhile would be
// refused. It reports whether that is new.
func (rg *registrar) onConfirm(h *homes, from protocol.UID, m protocol.Confirm) (changed bool) {
	p := h.regions.peers[from]
	if p == nil || m.Life != p.life {
		rg.counts[protocol.CountLate]++
		return false
	}
	if p.sure {
		return false
	}
	p.sure = true
	h.picture.regionsChanged(rg.now)
	return true
}

// retryWelcomes repeats Registered to regions that have not confirmed it.
func (rg *registrar) retryWelcomes(h *homes) {
	for _, p := range h.regions.byUID() {
		if p.acked && !p.sure && !p.leaving && !p.proxy && p.told+1 < rg.ticks {
			rg.counts[protocol.CountRetries]++
			rg.welcome(h, p)
		}
	}
}

// onLeaveRequest moves the shards of a leaving region away, or tells the region that no other
// region can take them. It reports whether shards have lost their home.
func (rg *registrar) onLeaveRequest(h *homes, from protocol.UID, m protocol.LeaveRequest) (lost bool) {
	p := h.regions.peers[from]
	if p == nil {
		h.out.send(from, protocol.LeaveReply{Done: true, Life: m.Life, Floor: rg.floor})
		return false
	}
	if m.Life < p.life {
		rg.counts[protocol.CountLate]++
		return false
	}
	p.leaving, p.left, p.life = true, p.left || m.Left, m.Life
	h.picture.regionsChanged(rg.now)
	if m.Left {
		for _, s := range h.byHome.of(h.shards, from) {
			h.lose(s, m.Closing || rg.view.Closing)
		}
		h.out.send(from, protocol.LeaveReply{Done: true, Life: m.Life, Floor: rg.floor})
		return true
	}
	rg.askUnheard(h)
	switch nobody := h.regions.nobodyElse(); {
	case !h.byHome.isHome(from):
		h.out.send(from, protocol.LeaveReply{Done: true, Alone: nobody, Life: m.Life, Floor: rg.floor})
	case rg.view.Closing:
		h.out.send(from, protocol.LeaveReply{Alone: true, Life: m.Life, Floor: rg.floor})
	case !nobody:
		rg.drain(h, p)
	case rg.leavesView(from):
		h.out.send(from, protocol.LeaveReply{Alone: true, Life: m.Life, Floor: rg.floor})
	default:
		rg.rest(h, p)
	}
	return false
}

// drainLeaving goes on to move away what leaving regions host.
func (rg *registrar) drainLeaving(h *homes) {
	for _, p := range h.regions.byUID() {
		if p.leaving && !rg.now.Before(p.drainAt) {
			rg.drain(h, p)
		}
	}
}

// rehost commands a region that was started again, and hosts nothing any more, to host what its
// predecessor on that node did. One that has answered a command has joined before that, so it
// cannot be the same. One that is not the first of its node obeys no command from before its
// registration.
func (rg *registrar) rehost(h *homes, p *peer) {
	for _, s := range h.byHome.of(h.shards, p.uid) {
		if st := h.shards[s].state; st == stateHosted || p.life > 0 && (st == stateHosting || st == stateWriting) {
			h.place(s, p.uid)
		}
	}
}

// rest stops every shard of a closed region whose node stays, when no other region can take them.
// The shards are handed off without a new home. If the region stopped them by itself, messages that
// others still send to it could be overtaken: a later region of the node could pass them on.
func (rg *registrar) rest(h *homes, p *peer) {
	if h.now.Before(p.drainAt) {
		return
	}
	for _, s := range h.byHome.of(h.shards, p.uid) {
		if h.shards[s].state == stateHosted {
			h.startMove(s)
			h.moves[s].ends = true
		}
	}
}

// drain moves every shard of a region away, all at one time.
func (rg *registrar) drain(h *homes, p *peer) {
	if h.view.Closing || h.now.Before(p.drainAt) || p.count == 0 || !h.regions.mayAllocate() {
		return
	}
	for _, s := range h.byHome.of(h.shards, p.uid) {
		if h.shards[s].state == stateHosted {
			h.startMove(s)
		}
	}
}

// askUnheard asks those that could host.
func (rg *registrar) askUnheard(h *homes) {
	for _, m := range rg.view.Members {
		if m.HasRole(rg.cfg.Role) && m.Status == view.Up && h.regions.unheard(m.UID) {
			rg.inquire(h, m.UID)
		}
	}
}

func (rg *registrar) inquire(h *homes, u protocol.UID) {
	h.out.send(u, protocol.Inquire{Floor: rg.floor, Role: rg.cfg.Role})
}
