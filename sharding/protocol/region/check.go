package region

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Check reports every broken invariant of the region.
func (r *Region) Check() error {
	var f protocol.Violations
	f.Check(!r.dropped || r.Deadline().IsZero(), "dropped, and wants a Tick at %v", r.Deadline())
	wanted, hosted, stopped := 0, 0, 0
	p := new(place) // one for all: it is not kept
	for i := range r.places.rows.of {
		s := protocol.ShardID(i)
		active := r.places.active[s] != nil
		*p = r.places.peek(s)
		f.Check(!active || r.places.rows.of[s] == row{}, "shard %v has a row, although more is known of it", s)
		f.Check(active || r.places.plain(s, p), "shard %v has a row, which does not say all", s)
		f.Check(!active || !r.places.plain(s, p), "shard %v has no row, which would say all", s)
		wanted += count(p.wanted)
		hosted += count(p.hosts())
		stopped += count(p.phase == protocol.PhaseStopped)
		if route := r.places.routeOf(p); !r.dropped && p.route != route {
			f.Check(false, "shard %v: published route %v, should be %v", s, p.route, route)
		}
		f.Check(!p.wanted || p.route.State.Buffers(), "shard %v: messages wait although the route is %v", s, &p.route)
		gives := p.phase >= protocol.PhaseFencing
		f.Check(!gives || r.places.moves[s] != nil, "shard %v is %v without a hand-off", s, p.phase)
		f.Check(r.places.moves[s] == nil || gives || p.phase == protocol.PhaseStarting,
			"shard %v is %v with a hand-off", s, p.phase)
		f.Check(!p.hosts() || !r.cfg.Proxy, "a proxy hosts shard %v", s)
		f.Check(p.phase != protocol.PhaseFencing || len(r.places.moves[s].need) > 0,
			"shard %v is fencing and waits for no region", s)
	}
	f.Check(wanted == r.places.wanted, "%d shards are wanted, counted %d", wanted, r.places.wanted)
	f.Check(hosted == r.places.hosted, "%d shards are hosted, counted %d", hosted, r.places.hosted)
	f.Check(stopped == r.places.stopped, "%d shards are stopped, counted %d", stopped, r.places.stopped)
	f.Check(!r.departure.left || hosted == 0, "left with %d shards", hosted)
	return f.Err()
}

// String prints the state of the region; shards with an ordinary remote route are only counted.
func (r *Region) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "region of %v coordinator=%v floor=%v known=%v joined=%v",
		r.self(), r.registration.coordinator, r.registration.floor, r.registration.known, r.registration.joined)
	remote := 0
	for i := range r.places.rows.of {
		peeked := r.places.peek(protocol.ShardID(i))
		p := &peeked
		switch {
		case p.phase != protocol.PhaseNone || p.wanted || p.held():
			fmt.Fprintf(&b, "\n  %d %v %v", i, p.phase, p.route)
			if p.wanted {
				b.WriteString(" wanted")
			}
			if g := r.places.moves[protocol.ShardID(i)]; g != nil {
				fmt.Fprintf(&b, " hand-off %v needs%s", g.id, protocol.ListText(g.need))
			}
		case p.route.State == protocol.RouteRemote:
			remote++
		}
	}
	fmt.Fprintf(&b, "\n  remote %d", remote)
	return b.String()
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
