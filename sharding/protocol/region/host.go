package region

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onHostShards obeys commands to host shards, or to go on hosting after an aborted hand-off, and
// answers those that hold.
func (r *Region) onHostShards(from protocol.UID, m protocol.HostShards) {
	if !r.lease {
		r.counts[protocol.CountNoLease] += uint64(len(m.Shards))
		return
	}
	if r.left {
		r.send(from, r.leaveRequest())
		return
	}
	var started []protocol.ShardToken
	for _, st := range m.Shards {
		p, ok := r.at(st.Shard)
		switch {
		case !ok:
		case r.alone || r.cfg.Proxy:
			r.countIgnored()
		case r.overtaken(p, st.Token) || r.givenUp(p, st) || r.beforeMe(st.Token):
			r.counts[protocol.CountStale]++
		default:
			r.host(st, p)
			started = append(started, st)
		}
	}
	if len(started) > 0 {
		r.send(from, protocol.Started{Shards: started})
	}
}

// overtaken reports whether a command is older than what this region has obeyed or knows: it comes
// from a deposed coordinator, or late.
func (r *Region) overtaken(p *place, t protocol.Token) bool {
	if r.cfg.Defects.NoTokenCheck {
		return false
	}
	return t.Less(r.floor) || t.Less(p.barrier) || t.Less(p.token) || p.hosts() && t.Less(p.host)
}

// beforeMe reports whether a command may have been for an earlier region of this node, whose shards
// may have gone elsewhere since.
func (r *Region) beforeMe(t protocol.Token) bool {
	return r.life > 0 && (!r.joined || !r.since.Less(t)) && !r.cfg.Defects.NoTokenCheck
}

func (r *Region) host(st protocol.ShardToken, p *place) {
	if p.hosts() && st.Token == p.host {
		return // repeated
	}
	if p.token.Less(st.Token) {
		p.home, p.token = r.self(), st.Token
	}
	p.host = st.Token
	delete(r.moves, st.Shard)
	switch p.phase {
	case protocol.PhaseNone, protocol.PhaseStopped:
		r.setPhase(p, protocol.PhaseStarting)
		r.do(protocol.StartShard{Shard: st.Shard, Token: st.Token, Wait: r.backoffOf(st.Shard)})
	case protocol.PhaseFencing:
		r.setPhase(p, protocol.PhaseRunning)
	case protocol.PhaseDraining, protocol.PhaseStopping:
		r.setPhase(p, protocol.PhaseRunning)
		r.do(protocol.ResumeShard{Shard: st.Shard})
	}
	r.publish(st.Shard, p)
}

// onShardStarted opens the shard, at the latest with the view in which its home was chosen.
func (r *Region) onShardStarted(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		r.countIgnored()
		return
	}
	p.ready, p.waits = true, false
	r.maybeOpen(s, p)
}

// maybeOpen opens a shard that has started, once this node has the view in which it was chosen:
// what the last home lost with its node comes back with that view, and goes first. If a hand-off
// has begun meanwhile, what was buffered is delivered before it goes on: part of it came from
// regions that have fenced since.
func (r *Region) maybeOpen(s protocol.ShardID, p *place) {
	if !p.ready || r.ahead(p.host) {
		return
	}
	r.setPhase(p, protocol.PhaseRunning)
	r.publish(s, p)
	if r.moves[s] == nil {
		return
	}
	r.setPhase(p, protocol.PhaseFencing)
	r.publish(s, p)
	r.maybeDrain(s, p)
}

// kill ends a shard at once. Its buffer stays, for the next home.
func (r *Region) kill(s protocol.ShardID, p *place, why protocol.Reason) {
	r.setPhase(p, protocol.PhaseNone)
	delete(r.moves, s)
	r.do(protocol.KillShard{Shard: s, Reason: why})
}

// onDropped ends everything: the node is no member any more.
func (r *Region) onDropped() {
	for i := range r.shards {
		s, p := protocol.ShardID(i), &r.shards[i]
		if p.hosts() {
			r.kill(s, p, protocol.DropNodeLost)
		}
		if p.wanted {
			r.do(protocol.DropBuffer{Shard: s, Reason: protocol.DropNodeLost})
			r.unwant(p)
		}
		if p.route.State != protocol.RouteUnknown {
			p.route = protocol.Route{State: protocol.RouteUnknown}
			r.do(protocol.SetRoute{Shard: s, Route: p.route})
		}
	}
	r.dropped = true
	r.asks, r.askAt = nil, time.Time{}
}
