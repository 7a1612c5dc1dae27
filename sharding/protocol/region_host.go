package protocol

import "time"

// onHostShards obeys commands to host shards, or to go on hosting after an aborted hand-off, and
// answers those that hold.
func (r *Region) onHostShards(from UID, m HostShards) {
	if !r.lease {
		r.counts[countNoLease] += uint64(len(m.Shards))
		return
	}
	if r.left {
		r.send(from, r.leaveRequest())
		return
	}
	var started []ShardToken
	for _, st := range m.Shards {
		p, ok := r.at(st.Shard)
		switch {
		case !ok:
		case r.alone || r.cfg.Proxy:
			r.countIgnored()
		case r.overtaken(p, st.Token) || r.givenUp(p, st) || r.beforeMe(st.Token):
			r.counts[countStale]++
		default:
			r.host(st, p)
			started = append(started, st)
		}
	}
	if len(started) > 0 {
		r.send(from, Started{Shards: started})
	}
}

// overtaken says whether a command is older than what this region has obeyed or knows: it comes
// from a deposed coordinator, or late.
func (r *Region) overtaken(p *place, t Token) bool {
	if r.cfg.Faults.NoTokenCheck {
		return false
	}
	return t.Less(r.floor) || t.Less(p.barrier) || t.Less(p.token) || p.hosts() && t.Less(p.host)
}

// beforeMe says whether a command may have been for an earlier region of this node, whose shards
// may have gone elsewhere since.
func (r *Region) beforeMe(t Token) bool {
	return r.life > 0 && (!r.joined || !r.since.Less(t)) && !r.cfg.Faults.NoTokenCheck
}

func (r *Region) host(st ShardToken, p *place) {
	if p.hosts() && st.Token == p.host {
		return // repeated
	}
	if p.token.Less(st.Token) {
		p.home, p.token = r.self(), st.Token
	}
	p.host = st.Token
	delete(r.moves, st.Shard)
	switch p.phase {
	case PhaseNone, PhaseStopped:
		r.setPhase(p, PhaseStarting)
		r.do(StartShard{Shard: st.Shard, Token: st.Token, Wait: r.backoffOf(st.Shard)})
	case PhaseFencing:
		r.setPhase(p, PhaseRunning)
	case PhaseDraining, PhaseStopping:
		r.setPhase(p, PhaseRunning)
		r.do(ResumeShard{Shard: st.Shard})
	}
	r.publish(st.Shard, p)
}

// onShardStarted opens the shard, at the latest with the view in which its home was chosen.
func (r *Region) onShardStarted(s ShardID) {
	p, ok := r.at(s)
	if !ok || p.phase != PhaseStarting {
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
func (r *Region) maybeOpen(s ShardID, p *place) {
	if !p.ready || r.ahead(p.host) {
		return
	}
	r.setPhase(p, PhaseRunning)
	r.publish(s, p)
	if r.moves[s] == nil {
		return
	}
	r.setPhase(p, PhaseFencing)
	r.publish(s, p)
	r.maybeDrain(s, p)
}

// kill ends a shard at once. Its buffer stays, for the next home.
func (r *Region) kill(s ShardID, p *place, why Reason) {
	r.setPhase(p, PhaseNone)
	delete(r.moves, s)
	r.do(KillShard{Shard: s, Reason: why})
}

// onDropped ends everything: the node is no member any more.
func (r *Region) onDropped() {
	for i := range r.shards {
		s, p := ShardID(i), &r.shards[i]
		if p.hosts() {
			r.kill(s, p, DropNodeLost)
		}
		if p.wanted {
			r.do(DropBuffer{Shard: s, Reason: DropNodeLost})
			r.unwant(p)
		}
		if p.route.State != RouteUnknown {
			p.route = Route{State: RouteUnknown}
			r.do(SetRoute{Shard: s, Route: p.route})
		}
	}
	r.dropped = true
	r.asks, r.askAt = nil, time.Time{}
}
