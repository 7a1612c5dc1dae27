package region

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// places is what a region knows of all shards, and what it does with them: where their messages go,
// which of them it hosts, and which it gives up.
//
// Most shards run elsewhere, and nothing is to be known of them but their entry. That is in rows. All
// of those about which there is more are in active, at the latest from the Step in which that comes
// about: a Step that concerns these costs nothing for the others.
//
// Invariants: the phases fencing to stopped have a giveUp in moves, and starting has one after a
// Begin. wanted, hosted and stopped count the places that are so. A shard in active has an empty row.
type places struct {
	*env
	registration *registration
	departure    *departure

	rows    rows                        // of all shards
	active  map[protocol.ShardID]*place // those of which a row does not say all
	touched []protocol.ShardID          // of active, in this Step: a row may say all again

	moves map[protocol.ShardID]*giveUp   // phases fencing to stopped, and starting after Begin
	lost  map[protocol.ShardID]time.Time // when shards have lost their leases here
	// fences whose Begin has not come yet, the latest hand-off of each shard only
	early map[protocol.ShardID]earlyFences

	wanted  int // places with messages in their buffers
	hosted  int // places whose phase is starting to stopping
	stopped int // places whose phase is stopped
}

func newPlaces(e *env, rg *registration, d *departure) places {
	return places{
		env: e, registration: rg, departure: d, rows: newRows(e.cfg.Shards), active: map[protocol.ShardID]*place{},
		moves: map[protocol.ShardID]*giveUp{},
		lost:  map[protocol.ShardID]time.Time{}, early: map[protocol.ShardID]earlyFences{},
	}
}

// place is what a region knows of one shard.
type place struct {
	home    protocol.UID   // of the table entry
	token   protocol.Token // of the table entry or command that home follows
	doubt   bool           // the entry may have been overtaken without this region; only the coordinator can say
	barrier protocol.Token // of the latest Begin
	owner   protocol.UID   // where the fence for barrier goes
	host    protocol.Token // by which this node hosts; meaningful unless the phase is none or stopped
	phase   protocol.Phase
	waits   bool // starting, and its lease cannot be had now
	ready   bool // starting, and only the view in which its home was chosen is missing
	wanted  bool // the buffer may hold messages
	route   protocol.Route
}

// giveUp is a hand-off whose owner is this node.
type giveUp struct {
	id   protocol.Token
	need []protocol.UID // regions whose fences are outstanding
}

type earlyFences struct {
	id   protocol.Token
	from []protocol.UID
}

func (p *place) hosts() bool {
	return p.phase >= protocol.PhaseStarting && p.phase <= protocol.PhaseStopping
}

func (p *place) held() bool { return p.token.Less(p.barrier) }

// asks reports whether the shard's messages wait for a home that the coordinator, or a peer, has to
// name.
func (p *place) asks() bool { return p.wanted && !p.hosts() }

// at finds the place of a shard, which may be changed until the end of the Step. A shard beyond the
// number of shards is counted.
func (ps *places) at(s protocol.ShardID) (*place, bool) {
	if int64(s) >= int64(len(ps.rows.of)) {
		ps.counts[protocol.CountOutOfRange]++
		return nil, false
	}
	p := ps.active[s]
	if p == nil {
		row := ps.rows.place(s)
		p = &row
		ps.rows.clear(s)
		ps.active[s] = p
	}
	ps.touched = append(ps.touched, s)
	return p, true
}

// peek is a copy of the place of a shard.
func (ps *places) peek(s protocol.ShardID) place {
	if p := ps.active[s]; p != nil {
		return *p
	}
	return ps.rows.place(s)
}

// visit has fn look at the place of a shard, and change it.
func (ps *places) visit(s protocol.ShardID, fn func(protocol.ShardID, *place)) {
	if p := ps.active[s]; p != nil {
		ps.touched = append(ps.touched, s)
		fn(s, p)
		return
	}
	p := ps.rows.place(s)
	was := p
	switch fn(s, &p); {
	case !ps.plain(s, &p): // also when it has not changed itself: what visits all has
		kept := p
		ps.rows.clear(s)
		ps.active[s] = &kept
	case p != was:
		ps.rows.put(s, &p)
	}
}

// visitAll visits all shards, in order.
func (ps *places) visitAll(fn func(protocol.ShardID, *place)) {
	for i := range ps.rows.of {
		ps.visit(protocol.ShardID(i), fn)
	}
}

// visitActive visits those shards of which more is known than their entry, in order.
func (ps *places) visitActive(fn func(protocol.ShardID, *place)) {
	for _, s := range slices.Sorted(maps.Keys(ps.active)) {
		ps.visit(s, fn)
	}
}

// plain reports whether a row says all of a place: it does not concern this node, and the route
// changes only with the entry, or when the home is gone, or with what visits all.
func (ps *places) plain(s protocol.ShardID, p *place) bool {
	if p.phase != protocol.PhaseNone || p.wanted || p.held() || ps.moves[s] != nil {
		return false
	}
	if p.route.State == protocol.RouteUnknown {
		return p.home == 0 || p.doubt || !ps.registration.joined || ps.departure.alone
	}
	return p.route == remoteRoute(p.home, p.token)
}

// settle ends a Step: what a row can say is there again.
func (ps *places) settle() {
	for _, s := range ps.touched {
		if p := ps.active[s]; p != nil && ps.plain(s, p) {
			ps.rows.put(s, p)
			delete(ps.active, s)
		}
	}
	ps.touched = ps.touched[:0]
}

// asks reports whether messages for a shard wait for a home.
func (ps *places) asks(s protocol.ShardID) bool {
	p := ps.active[s]
	return p != nil && p.asks()
}

func (ps *places) setPhase(p *place, to protocol.Phase) {
	if p.hosts() {
		ps.hosted--
	}
	if p.phase == protocol.PhaseStopped {
		ps.stopped--
	}
	p.phase, p.waits, p.ready = to, false, false
	if p.hosts() {
		ps.hosted++
	}
	if p.phase == protocol.PhaseStopped {
		ps.stopped++
	}
}
