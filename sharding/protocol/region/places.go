package region

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// places is what a region knows of all shards, and what it does with them: where their messages go,
// which of them it hosts, and which it gives up.
//
// Invariants: the phases fencing to stopped have a giveUp in moves, and starting has one after a
// Begin. wanted, hosted and stopped count the places that are so.
type places struct {
	*env
	registration *registration
	departure    *departure

	table
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
		env: e, registration: rg, departure: d, table: newTable(e.cfg.Shards),
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
	if !ps.known(s) {
		ps.counts[protocol.CountOutOfRange]++
		return nil, false
	}
	return ps.change(s), true
}

// isPlain reports whether a row says all of a place: it does not concern this node, and the route
// changes only with the entry, or when the home is gone, or with what visits all.
func isPlain(ps *places, s protocol.ShardID, p *place) bool {
	if p.phase != protocol.PhaseNone || p.wanted || p.held() || ps.moves[s] != nil {
		return false
	}
	if p.route.State == protocol.RouteUnknown {
		return p.home == 0 || p.doubt || !ps.registration.joined || ps.departure.alone && !ps.closing()
	}
	return p.route == remoteRoute(p.home, p.token)
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
