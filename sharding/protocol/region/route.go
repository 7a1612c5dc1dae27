package region

import (
	"github.com/coterie-go/coterie/sharding/protocol"
)

// routeOf derives the route from the three parts of what is known. What a shard that starts or runs
// here receives is delivered here, whatever the table says; otherwise a barrier holds; otherwise
// the table leads, to members only, and only where this region has taken part in every hand-off
// since: a table that lags behind would send a message to an old home, which passes it on, and the
// next one past it. It leads no message on before this node has the view in which the home was
// chosen, for the reason that maybeOpen has.
func (ps *places) routeOf(p *place) protocol.Route {
	switch p.phase {
	case protocol.PhaseStarting:
		return protocol.Route{State: protocol.RouteStarting, Token: p.host}
	case protocol.PhaseRunning:
		return protocol.Route{State: protocol.RouteLocal, Token: p.host}
	case protocol.PhaseFencing:
		return protocol.Route{State: protocol.RouteDraining, Token: p.host, HandOff: p.barrier}
	case protocol.PhaseDraining, protocol.PhaseStopping, protocol.PhaseStopped:
		return protocol.Route{State: protocol.RouteMoving, HandOff: p.barrier}
	}
	switch {
	case ps.departure.alone && !ps.closing(): // no region has fenced: later messages could overtake one passed on
		return protocol.Route{State: protocol.RouteUnknown}
	case p.held():
		return protocol.Route{State: protocol.RouteMoving, HandOff: p.barrier}
	case p.home == 0 || p.home == ps.self() || !ps.registration.joined || !ps.inView(p.home) ||
		ps.ahead(p.token) || p.doubt:
		return protocol.Route{State: protocol.RouteUnknown}
	}
	return remoteRoute(p.home, p.token)
}

// publish makes the route of a shard known when it has changed, and empties its buffer when it
// leads somewhere.
func (ps *places) publish(s protocol.ShardID, p *place) {
	if to := ps.routeOf(p); to != p.route {
		p.route = to
		ps.do(protocol.SetRoute{Shard: s, Route: to})
	}
	if p.wanted && !p.route.State.Buffers() {
		ps.do(protocol.FlushBuffer{Shard: s})
		ps.unwant(p)
	}
}

func (ps *places) unwant(p *place) {
	if p.wanted {
		p.wanted = false
		ps.wanted--
	}
}

// onWanted notes that a buffer has got its first message. The route may have changed since that
// message was buffered.
func (r *Region) onWanted(s protocol.ShardID) {
	p, ok := r.places.at(s)
	if !ok || p.wanted {
		return
	}
	if r.departure.alone || r.registration.over() || r.departure.left && !r.registration.counted {
		r.do(protocol.DropBuffer{Shard: s, Reason: r.departure.noHome()})
		return
	}
	p.wanted = true
	r.places.wanted++
	r.places.publish(s, p)
	if p.asks() {
		r.asker.ask(&r.places, s)
	}
}

func (r *Region) onHomes(from protocol.UID, m protocol.Homes) {
	r.places.onEntries(m.Entries)
	for _, e := range m.Entries {
		if p, ok := r.places.at(e.Shard); ok && m.Sure && p.token == e.Token && p.doubt {
			p.doubt = false
			r.places.publish(e.Shard, p)
		}
	}
	if m.Sure && from == r.registration.coordinator {
		r.registration.failing = failing{}
		r.asker.answered(&r.places)
	}
}

// onEnded drops what waits for shards that get no home any more, because the whole cluster shuts
// down.
func (r *Region) onEnded(from protocol.UID, m protocol.Ended) {
	if from != r.registration.coordinator {
		r.counts[protocol.CountOtherRole]++
		return
	}
	for _, s := range m.Shards {
		if p, ok := r.places.at(s); ok && p.asks() {
			r.places.dropBuffer(s, p, protocol.DropEnded)
		}
	}
	r.asker.answered(&r.places)
}

func (ps *places) onEntries(es []protocol.Entry) {
	for _, e := range es {
		if !ps.known(e.Shard) {
			ps.counts[protocol.CountOutOfRange]++
			continue
		}
		ps.visit(e.Shard, func(_ protocol.ShardID, p *place) {
			if p.token.Less(e.Token) {
				ps.onEntry(e, p)
			}
		})
	}
}

// onEntry takes a newer row of the table. If it is above the barrier, a stopped shard is over and
// its buffer goes to the new home.
func (ps *places) onEntry(e protocol.Entry, p *place) {
	p.home, p.token, p.doubt = e.Home, e.Token, ps.registration.doubts(e.Token)
	if p.phase == protocol.PhaseStopped && !p.held() {
		ps.setPhase(p, protocol.PhaseNone)
		delete(ps.moves, e.Shard)
	}
	if p.hosts() && e.Home != ps.self() && p.host.Less(e.Token) {
		ps.kill(e.Shard, p, protocol.DropHomeElsewhere)
		ps.notify(protocol.Event{Kind: protocol.HostElsewhere, Shard: e.Shard, Peer: e.Home, Token: e.Token})
	}
	ps.publish(e.Shard, p)
}

// onAskedRegion tells a proxy what this region knows.
func (ps *places) onAskedRegion(from protocol.UID, m protocol.GetHomes) {
	var es []protocol.Entry
	for _, s := range m.Shards {
		if p, ok := ps.at(s); ok && p.home != 0 && !p.held() && ps.inView(p.home) {
			es = append(es, protocol.Entry{Shard: s, Home: p.home, Token: p.token})
		}
	}
	if len(es) > 0 {
		ps.send(from, protocol.Homes{Entries: es})
	}
}

// onMisrouted corrects a peer whose route is wrong.
func (ps *places) onMisrouted(from protocol.UID, s protocol.ShardID) {
	if p, ok := ps.at(s); ok && p.home != 0 && p.home != from && !p.held() {
		ps.send(from, protocol.Homes{Entries: []protocol.Entry{{Shard: s, Home: p.home, Token: p.token}}})
	}
}
