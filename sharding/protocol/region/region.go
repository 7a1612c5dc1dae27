package region

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Region is the part of an entity type that runs on one node, as region or as proxy. It decides
// where messages for each shard go (SetRoute), hosts shards when the coordinator commands it, and
// takes part in every hand-off of the type. It never sees a message.
//
// What a region knows of a shard has three independent parts. The table entry (home, token) only
// grows in its token. The barrier is the token of the latest Begin: messages are held until an
// entry or a command above it. The phase says how far the shard is here:
//
//	none ──HostShards──► starting ──ShardStarted──► running ──Begin──► fencing ──all fences──► draining
//	 ▲                      ▲                          ▲                                          │ ShardDrained
//	 │ next home known      │ HostShards               └── HostShards with a higher token ──┐     ▼
//	 └────────────── stopped ◄──────────────────ShardStopped──────────────────────────── stopping
//	                    ▲
//	                    └── ShardLost, from wherever it is hosted
//
// The route follows from the three, see routeOf. A region that has never been registered routes
// nothing to other nodes: no hand-off would wait for its fence.
type Region struct {
	cfg protocol.Config
	rng *rand.Rand
	fx  protocol.RegionEffects
	now time.Time

	view        *membership.View
	life        uint32         // how many regions the node had before this one
	coordinator protocol.UID   // of the view; 0: none
	absent      bool           // its node has not started the type
	floor       protocol.Token // commands below it come from deposed coordinators
	known       bool           // the coordinator of the view knows this region
	refusedBy   protocol.UID   // the coordinator that did last
	joined      bool           // some coordinator has known it; only grows
	counted     bool           // some coordinator may count on it, since it has confirmed or reported; only grows
	since       protocol.Token // of the first registration: decisions up to it were made without this region
	lease       bool

	shards []place                          // by ShardID
	moves  map[protocol.ShardID]*giveUp     // phases fencing to stopped, and starting after Begin
	lost   map[protocol.ShardID]time.Time   // when shards have lost their leases here
	early  map[protocol.ShardID]earlyFences // fences whose Begin has not come yet, the latest hand-off of each shard only

	wanted  int // places with messages in their buffers
	hosted  int // places whose phase is starting to stopping
	stopped int // places whose phase is stopped

	stops map[protocol.ShardID]bool // that are to be stopped for good, as this node has asked

	leaving, left bool
	released      bool // leaving, and the coordinator will not send anything here any more
	alone         bool // leaving, and no other region can take the shards
	quits         bool // alone, because what is here shall end at once
	wasEmpty      bool // leaving, and nothing was hosted here after the Step before
	dropped       bool

	retryAt time.Time
	backoff time.Duration
	asks    []protocol.ShardID // to be asked for with the next GetHomes
	askAt   time.Time          // at the latest
	asking  bool               // a GetHomes is under way
	turn    int                // which region a proxy asks next

	reported map[protocol.ShardID]protocol.ShardLoad // per second, as the coordinator was last told
	measured int                                     // how often loads were reported to it

	counts protocol.Counters
}

// place is what a region knows of one shard.
type place struct {
	home    protocol.UID   // of the table entry
	token   protocol.Token // of the table entry or command that home follows
	doubt   bool           // the entry may have been overtaken without this region; only the coordinator can say
	barrier protocol.Token // of the latest Begin
	owner   protocol.UID   // whom the fence for barrier goes to
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

// New makes the region of cfg.Self. It is silent until a view is installed.
func New(cfg protocol.Config, rng *rand.Rand) (*Region, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	return &Region{
		cfg: cfg, rng: rng, backoff: cfg.RetryInterval / 8,
		shards: make([]place, cfg.Shards), moves: map[protocol.ShardID]*giveUp{}, lost: map[protocol.ShardID]time.Time{}, early: map[protocol.ShardID]earlyFences{},
		stops: map[protocol.ShardID]bool{}, floor: cfg.Predecessor.Floor, life: cfg.Predecessor.Incarnation,
	}, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (r *Region) Step(now time.Time, in protocol.RegionInput) *protocol.RegionEffects {
	r.fx = protocol.RegionEffects{Do: r.fx.Do[:0], Send: r.fx.Send[:0], Notify: r.fx.Notify[:0], AtRest: r.fx.AtRest[:0]}
	r.now = now
	if r.dropped {
		r.countIgnored()
		return &r.fx
	}
	switch in := in.(type) {
	case protocol.Tick:
		r.onTick()
	case protocol.Install:
		r.onInstall(in.View)
	case protocol.Lease:
		r.lease = in.Held
	case protocol.Receive:
		r.onReceive(in.From, in.Msg)
	case protocol.TableChanged:
		r.onEntries(in.Entries)
	case protocol.LinkUp:
		r.onLinkUp(in.Peer)
	case protocol.Wanted:
		r.onWanted(in.Shard)
	case protocol.Misrouted:
		r.onMisrouted(in.From, in.Shard)
	case protocol.Measured:
		r.onMeasured(in)
	case protocol.Leave:
		r.onLeave()
	case protocol.Quit:
		r.onQuit()
	case protocol.StopShards:
		r.onStopShards(in.Shards)
	case protocol.Dropped:
		r.onDropped()
	case protocol.ShardWaits:
		r.onShardWaits(in.Shard)
	case protocol.ShardLeased:
		r.onShardLeased(in.Shard)
	case protocol.ShardUnable:
		r.onShardUnable(in.Shard)
	case protocol.ShardLost:
		r.onShardLost(in.Shard)
	case protocol.ShardStarted:
		r.onShardStarted(in.Shard)
	case protocol.ShardDrained:
		r.onShardDrained(in.Shard, in.HandOff)
	case protocol.ShardStopped:
		r.onShardStopped(in.Shard, in.HandOff)
	}
	r.maybeEmpty()
	r.maybeLeft()
	r.arm()
	return &r.fx
}

func (r *Region) onReceive(from protocol.UID, m protocol.Message) {
	switch m := m.(type) {
	case protocol.Registered:
		r.onRegistered(from, m)
	case protocol.Refused:
		r.onRefused(from, m)
	case protocol.Homes:
		r.onHomes(from, m)
	case protocol.HostShards:
		r.onHostShards(from, m)
	case protocol.Begin:
		r.onBegin(from, m.Moves, m.Regions)
	case protocol.Fence:
		r.onFence(from, m)
	case protocol.Inquire:
		r.onInquire(from, m)
	case protocol.Absent:
		r.onAbsent(from)
	case protocol.Compare:
		r.sayRole(from)
	case protocol.LeaveReply:
		r.onLeaveReply(m)
	case protocol.AtRest:
		r.onAtRest(m)
	case protocol.Ended:
		r.onEnded(from, m)
	case protocol.GetHomes:
		r.onAskedRegion(from, m)
	default:
		r.counts[protocol.CountOtherRole]++
	}
}

// Deadline is when the region wants a Tick; the zero time means never.
func (r *Region) Deadline() time.Time {
	if r.askAt.IsZero() || !r.retryAt.IsZero() && r.retryAt.Before(r.askAt) {
		return r.retryAt
	}
	return r.askAt
}

// Registered reports whether the coordinator of the view knows this region, and whether any ever
// has.
func (r *Region) Registered() (now, ever bool) { return r.known, r.joined }

// Coordinator is the oldest member with the role, whose coordinator is to act; 0: there is none. It
// is absent if the type was not started there.
func (r *Region) Coordinator() (u protocol.UID, absent bool) { return r.coordinator, r.absent }

// Predecessor is what holds for the regions that come after this one on its node.
func (r *Region) Predecessor() protocol.Predecessor {
	return protocol.Predecessor{Floor: r.floor, Incarnation: r.life + 1}
}

// Stats are the named counters, in a fixed order.
func (r *Region) Stats() []protocol.Counter { return r.counts.Stats() }

// at finds the place of a shard; a shard beyond the number of shards is counted.
func (r *Region) at(s protocol.ShardID) (*place, bool) {
	if int64(s) >= int64(len(r.shards)) {
		r.counts[protocol.CountOutOfRange]++
		return nil, false
	}
	return &r.shards[s], true
}

func (r *Region) do(a protocol.RegionAction) { r.fx.Do = append(r.fx.Do, a) }
func (r *Region) send(to protocol.UID, m protocol.Message) {
	r.fx.Send = append(r.fx.Send, protocol.Envelope{To: to, Msg: m})
}
func (r *Region) notify(e protocol.Event)    { r.fx.Notify = append(r.fx.Notify, e) }
func (r *Region) countIgnored()              { r.counts[protocol.CountIgnored]++ }
func (r *Region) self() protocol.UID         { return r.cfg.Self }
func (r *Region) inView(u protocol.UID) bool { return r.view != nil && r.view.Has(u) }
func (p *place) hosts() bool {
	return p.phase >= protocol.PhaseStarting && p.phase <= protocol.PhaseStopping
}
func (p *place) held() bool { return p.token.Less(p.barrier) }
func (r *Region) setPhase(p *place, to protocol.Phase) {
	if p.hosts() {
		r.hosted--
	}
	if p.phase == protocol.PhaseStopped {
		r.stopped--
	}
	p.phase, p.waits, p.ready = to, false, false
	if p.hosts() {
		r.hosted++
	}
	if p.phase == protocol.PhaseStopped {
		r.stopped++
	}
}
