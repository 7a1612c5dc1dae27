package sequence

import "github.com/coterie-go/coterie/sharding/protocol"

// Region follows the region of one type on one process, and finds the causes in what it does.
type Region struct {
	judge  *Judge
	place  place
	hosts  map[protocol.ShardID]hosted
	routes map[protocol.ShardID]protocol.Route
}

// hosted is a shard that runs here, or shall.
type hosted struct {
	token protocol.Token // by which it does
	waits bool           // for its lease
}

// Region begins to follow the region of a type on a process. It takes the place of an earlier one.
func (j *Judge) Region(process uint64, typ int) *Region {
	r := &Region{judge: j, place: place{process, typ},
		hosts: map[protocol.ShardID]hosted{}, routes: map[protocol.ShardID]protocol.Route{}}
	if j.regions == nil {
		j.regions = map[place]*Region{}
	}
	j.regions[r.place] = r
	return r
}

// Stepped looks at a step of the region's machine.
func (r *Region) Stepped(now int64, in any, fx *protocol.RegionEffects) {
	switch in := in.(type) {
	case protocol.ShardWaits:
		r.waits(in.Shard, true)
	case protocol.ShardLeased:
		r.waits(in.Shard, false)
	}
	for _, a := range fx.Do {
		switch a := a.(type) {
		case protocol.StartShard:
			r.hosts[a.Shard] = hosted{token: a.Token}
		case protocol.SetRoute:
			r.routed(now, a)
		case protocol.StopShard:
			r.stops(now, a)
		case protocol.CloseShard:
			delete(r.hosts, a.Shard)
		case protocol.KillShard:
			r.kills(now, a)
			delete(r.hosts, a.Shard)
		}
	}
}

// waits notes that a shard waits for its lease, or does not any more.
func (r *Region) waits(s protocol.ShardID, is bool) {
	if h, here := r.hosts[s]; here {
		h.waits = is
		r.hosts[s] = h
	}
}

// routed notes where the messages of a shard go. A shard that runs here may have got a later token.
func (r *Region) routed(now int64, a protocol.SetRoute) {
	r.routes[a.Shard] = a.Route
	if h, here := r.hosts[a.Shard]; here && a.Route.State != protocol.RouteRemote && h.token.Less(a.Route.Token) {
		h.token = a.Route.Token
		r.hosts[a.Shard] = h
	}
	r.judge.routed(r.name(a.Shard), now)
}

// stops finds a hand-off of a shard that waits for its lease, and a close by force.
func (r *Region) stops(now int64, a protocol.StopShard) {
	if r.hosts[a.Shard].waits {
		r.breaks(a.Shard, Waiting, now)
	}
	if a.Force {
		r.breaks(a.Shard, Forced, now)
	}
}

// kills finds the loss of a lease, and a node that is no member any more. A shard that is killed
// because another node is its home is no cause.
func (r *Region) kills(now int64, a protocol.KillShard) {
	switch a.Reason {
	case protocol.DropLeaseLost:
		r.breaks(a.Shard, Lost, now)
	case protocol.DropNodeLost:
		r.breaks(a.Shard, Death, now)
	}
}

// End notes that the process has ended, with all that runs there.
func (r *Region) End(now int64) {
	for s := range r.hosts { // order: a cause each
		r.breaks(s, Death, now)
	}
	delete(r.judge.regions, r.place)
	for s := range r.routes { // order: each alone
		r.judge.routed(r.name(s), now)
	}
}

func (r *Region) breaks(s protocol.ShardID, why Cause, now int64) {
	r.judge.breaks(r.name(s), why, r.hosts[s].token, now)
}

// lags reports whether the region sends to the home of a token, or to one before.
func (r *Region) lags(s protocol.ShardID, token protocol.Token) bool {
	to := r.routes[s]
	return to.State == protocol.RouteRemote && !token.Less(to.Token)
}

func (r *Region) name(s protocol.ShardID) Shard { return Shard{Type: r.place.typ, Number: s} }
