package region

import (
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onHostShards obeys commands to host shards, or to go on hosting after an aborted hand-off, and
// answers those that hold.
func (r *Region) onHostShards(from protocol.UID, m protocol.HostShards) {
	if !r.lease {
		r.counts[protocol.CountNoLease] += uint64(len(m.Shards))
		return
	}
	if r.departure.left {
		r.send(from, r.departure.leaveRequest())
		return
	}
	var started []protocol.ShardToken
	for _, st := range m.Shards {
		p, ok := r.places.at(st.Shard)
		switch {
		case !ok:
		case r.departure.alone || r.cfg.Proxy:
			r.countIgnored()
		case r.places.overtaken(p, st.Token) || r.places.givenUp(p, st) || r.registration.beforeMe(st.Token):
			r.counts[protocol.CountStale]++
		default:
			r.places.host(st, p)
			started = append(started, st)
		}
	}
	if len(started) > 0 {
		r.send(from, protocol.Started{Shards: started})
	}
}

// overtaken reports whether a command is older than what this region has obeyed or knows: it comes
// from a deposed coordinator, or late.
func (ps *places) overtaken(p *place, t protocol.Token) bool {
	if ps.cfg.Planted(defect.NoTokenCheck) {
		return false
	}
	return t.Less(ps.registration.floor) || t.Less(p.barrier) || t.Less(p.token) || p.hosts() && t.Less(p.host)
}

func (ps *places) host(st protocol.ShardToken, p *place) {
	if p.hosts() && st.Token == p.host {
		return // repeated
	}
	if p.token.Less(st.Token) {
		p.home, p.token = ps.self(), st.Token
	}
	p.host = st.Token
	delete(ps.moves, st.Shard)
	switch p.phase {
	case protocol.PhaseNone, protocol.PhaseStopped:
		ps.setPhase(p, protocol.PhaseStarting)
		ps.do(protocol.StartShard{Shard: st.Shard, Token: st.Token, Wait: ps.backoffOf(st.Shard)})
	case protocol.PhaseFencing:
		ps.setPhase(p, protocol.PhaseRunning)
	case protocol.PhaseDraining, protocol.PhaseStopping:
		ps.setPhase(p, resumed(p.phase))
		ps.do(protocol.ResumeShard{Shard: st.Shard})
	}
	ps.publish(st.Shard, p)
}

// resumed is the phase of a shard whose drain or stop is taken back. One that was told to stop may
// have stopped already: it starts again, and says when it can deliver.
func resumed(from protocol.Phase) protocol.Phase {
	if from == protocol.PhaseStopping {
		return protocol.PhaseStarting
	}
	return protocol.PhaseRunning
}

// onShardStarted opens the shard, at the latest with the view in which its home was chosen.
func (ps *places) onShardStarted(s protocol.ShardID) {
	p, ok := ps.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		ps.countIgnored()
		return
	}
	p.ready, p.waits = true, false
	ps.maybeOpen(s, p)
}

// maybeOpen opens a shard that has started, once this node has the view in which it was chosen:
// what the last home lost with its node comes back with that view, and goes first. If a hand-off
// has begun meanwhile, what was buffered is delivered before it goes on: part of it came from
// regions that have fenced since.
func (ps *places) maybeOpen(s protocol.ShardID, p *place) {
	if !p.ready || ps.ahead(p.host) {
		return
	}
	ps.setPhase(p, protocol.PhaseRunning)
	ps.publish(s, p)
	if ps.moves[s] == nil {
		return
	}
	ps.setPhase(p, protocol.PhaseFencing)
	ps.publish(s, p)
	ps.maybeDrain(s, p)
}

// kill ends a shard at once. Its buffer stays, for the next home.
func (ps *places) kill(s protocol.ShardID, p *place, why protocol.Reason) {
	ps.setPhase(p, protocol.PhaseNone)
	delete(ps.moves, s)
	ps.do(protocol.KillShard{Shard: s, Reason: why})
}

// onDropped ends everything: the node is no member any more.
func (r *Region) onDropped() {
	r.places.visitKnown(func(s protocol.ShardID, p *place) {
		if p.hosts() {
			r.places.kill(s, p, protocol.DropNodeLost)
		}
		if p.wanted {
			r.do(protocol.DropBuffer{Shard: s, Reason: protocol.DropNodeLost})
			r.places.unwant(p)
		}
		if p.route.State != protocol.RouteUnknown {
			p.route = protocol.Route{State: protocol.RouteUnknown}
			r.do(protocol.SetRoute{Shard: s, Route: p.route})
		}
	})
	r.dropped = true
	r.asker.asks, r.asker.askAt = nil, time.Time{}
}
