package region

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// routeOf derives the route from the three parts of what is known. What a shard that starts or runs
// here receives is delivered here, whatever the table says; otherwise a barrier holds; otherwise
// the table leads, to members only, and only where this region has taken part in every hand-off
// since: a table that lags behind would send a message to an old home, which passes it on, and the
// next one past it. It leads no message on before this node has the view in which the home was
// chosen, for the reason that maybeOpen has.
func (r *Region) routeOf(p *place) protocol.Route {
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
	case r.alone && !r.closing(): // no region has fenced: later messages could overtake one passed on
		return protocol.Route{State: protocol.RouteUnknown}
	case p.held():
		return protocol.Route{State: protocol.RouteMoving, HandOff: p.barrier}
	case p.home == 0 || p.home == r.self() || !r.joined || !r.inView(p.home) || r.ahead(p.token) || p.doubt:
		return protocol.Route{State: protocol.RouteUnknown}
	}
	return protocol.Route{State: protocol.RouteRemote, Home: p.home, Token: p.token}
}

// ahead reports whether a decision was made in a view that this node has not installed yet.
func (r *Region) ahead(t protocol.Token) bool { return r.view == nil || uint64(r.view.Epoch) < t.Epoch }

// publish makes the route of a shard known when it has changed, and empties its buffer when it
// leads somewhere.
func (r *Region) publish(s protocol.ShardID, p *place) {
	if to := r.routeOf(p); to != p.route {
		p.route = to
		r.do(protocol.SetRoute{Shard: s, Route: to})
	}
	if p.wanted && !p.route.State.Buffers() {
		r.do(protocol.FlushBuffer{Shard: s})
		r.unwant(p)
	}
}

func (r *Region) publishAll() {
	for i := range r.shards {
		r.publish(protocol.ShardID(i), &r.shards[i])
	}
}

func (r *Region) unwant(p *place) {
	if p.wanted {
		p.wanted = false
		r.wanted--
	}
}

// onWanted notes that a buffer has got its first message. The route may have changed since that
// message was buffered.
func (r *Region) onWanted(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || p.wanted {
		return
	}
	if r.alone || r.over() || r.left && !r.counted {
		r.do(protocol.DropBuffer{Shard: s, Reason: r.noHome()})
		return
	}
	p.wanted = true
	r.wanted++
	r.publish(s, p)
	if p.asks() {
		r.ask(s)
	}
}

// asks reports whether the shard's messages wait for a home that somebody else has to name.
func (p *place) asks() bool { return p.wanted && !p.hosts() }

// askDelay gathers questions for homes while one is under way.
const askDelay = 10 * time.Millisecond

func (r *Region) ask(s protocol.ShardID) {
	if !r.known {
		return // all that is wanted is asked for on registration
	}
	r.asks = append(r.asks, s)
	if !r.asking {
		r.sendAsks()
		return
	}
	if r.askAt.IsZero() {
		r.askAt = r.now.Add(askDelay)
	}
}

// sendAsks asks for what still waits: a question for a shard that is here by now, or has a home,
// would keep it from coming to rest.
func (r *Region) sendAsks() {
	r.askAt = time.Time{}
	r.asks = slices.DeleteFunc(r.asks, func(s protocol.ShardID) bool { return !r.shards[s].asks() })
	for len(r.asks) > 0 {
		n := min(len(r.asks), protocol.BatchMax)
		r.counts[protocol.CountLookups] += uint64(n)
		r.send(r.coordinator, protocol.GetHomes{Shards: append([]protocol.ShardID(nil), r.asks[:n]...)})
		r.asks = r.asks[n:]
		r.asking = true
	}
	r.asks = nil
}

// askAll asks for every shard that waits for a home; regionToo asks another region as well.
func (r *Region) askAll(regionToo bool) {
	r.asks = r.asks[:0]
	for i := range r.shards {
		if r.shards[i].asks() {
			r.asks = append(r.asks, protocol.ShardID(i))
		}
	}
	if len(r.asks) == 0 {
		return
	}
	if peer, ok := r.nextRegion(); ok && regionToo {
		r.send(peer, protocol.GetHomes{Region: true, Shards: append([]protocol.ShardID(nil), r.asks[:min(len(r.asks), protocol.BatchMax)]...)})
	}
	if r.known {
		r.sendAsks()
	}
}

// nextRegion picks the region that a proxy asks next; it has no table of its own.
func (r *Region) nextRegion() (protocol.UID, bool) {
	if r.view == nil || !r.cfg.Proxy || !r.joined {
		return 0, false
	}
	ms := r.view.ByRole(r.cfg.Role)
	for range ms {
		r.turn++
		if m := ms[r.turn%len(ms)]; m.UID != r.coordinator && m.UID != r.self() {
			return m.UID, true
		}
	}
	return 0, false
}

func (r *Region) onHomes(from protocol.UID, m protocol.Homes) {
	r.onEntries(m.Entries)
	for _, e := range m.Entries {
		if p, ok := r.at(e.Shard); ok && m.Sure && p.token == e.Token && p.doubt {
			p.doubt = false
			r.publish(e.Shard, p)
		}
	}
	if m.Sure && from == r.coordinator && r.asking {
		r.asking = false
		r.sendAsks()
	}
}

// onEnded drops what waits for shards that get no home any more, because the whole cluster shuts
// down.
func (r *Region) onEnded(from protocol.UID, m protocol.Ended) {
	if from != r.coordinator {
		r.counts[protocol.CountOtherRole]++
		return
	}
	for _, s := range m.Shards {
		if p, ok := r.at(s); ok && p.asks() {
			r.dropBuffer(s, p, protocol.DropEnded)
		}
	}
	if r.asking {
		r.asking = false
		r.sendAsks()
	}
}

func (r *Region) onEntries(es []protocol.Entry) {
	for _, e := range es {
		if p, ok := r.at(e.Shard); ok && p.token.Less(e.Token) {
			r.onEntry(e, p)
		}
	}
}

// doubts reports whether an entry may have been overtaken without this region: it is older than its
// registration, or than the coordinator, from whom it should have come.
func (r *Region) doubts(t protocol.Token) bool { return !r.since.Less(t) || t.Less(r.floor) }

// onEntry takes a newer row of the table. If it is above the barrier, a stopped shard is over and
// its buffer goes to the new home.
func (r *Region) onEntry(e protocol.Entry, p *place) {
	p.home, p.token, p.doubt = e.Home, e.Token, r.doubts(e.Token)
	if p.phase == protocol.PhaseStopped && !p.held() {
		r.setPhase(p, protocol.PhaseNone)
		delete(r.moves, e.Shard)
	}
	if p.hosts() && e.Home != r.self() && p.host.Less(e.Token) {
		r.kill(e.Shard, p, protocol.DropHomeElsewhere)
		r.notify(protocol.Event{Kind: protocol.HostElsewhere, Shard: e.Shard, Peer: e.Home, Token: e.Token})
	}
	r.publish(e.Shard, p)
}

// onAskedRegion tells a proxy what this region knows.
func (r *Region) onAskedRegion(from protocol.UID, m protocol.GetHomes) {
	var es []protocol.Entry
	for _, s := range m.Shards {
		if p, ok := r.at(s); ok && p.home != 0 && !p.held() && r.inView(p.home) {
			es = append(es, protocol.Entry{Shard: s, Home: p.home, Token: p.token})
		}
	}
	if len(es) > 0 {
		r.send(from, protocol.Homes{Entries: es})
	}
}

// onMisrouted corrects a peer whose route is wrong.
func (r *Region) onMisrouted(from protocol.UID, s protocol.ShardID) {
	if p, ok := r.at(s); ok && p.home != 0 && p.home != from && !p.held() {
		r.send(from, protocol.Homes{Entries: []protocol.Entry{{Shard: s, Home: p.home, Token: p.token}}})
	}
}
