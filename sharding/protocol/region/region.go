package region

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
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
	env
	registration registration
	departure    departure
	places       places
	asker        asker
	stopper      stopper
	loads        loads
	dropped      bool // the node is no member any more

	retryAt time.Time
	tries   int // in vain
}

// New makes the region of cfg.Self. It is silent until a view is installed.
func New(cfg protocol.Config, rng *rand.Rand) (*Region, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	r := &Region{env: env{cfg: cfg, rng: rng}}
	past := cfg.Predecessor
	if cfg.Planted(defect.Unpromised) {
		past = protocol.Predecessor{}
	}
	r.registration = registration{env: &r.env, floor: past.Floor, life: past.Incarnation}
	r.departure = departure{env: &r.env, registration: &r.registration}
	r.places = newPlaces(&r.env, &r.registration, &r.departure)
	r.places.plain = func(s protocol.ShardID, p *place) bool { return isPlain(&r.places, s, p) }
	r.asker = asker{env: &r.env, registration: &r.registration}
	r.stopper = stopper{env: &r.env, registration: &r.registration, stops: map[protocol.ShardID]bool{}}
	return r, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (r *Region) Step(now time.Time, in protocol.RegionInput) *protocol.RegionEffects {
	r.begin(now)
	if r.dropped {
		r.countIgnored()
		return &r.fx
	}
	switch in := in.(type) {
	case protocol.Tick:
		r.onTick()
	case protocol.Install:
		r.onInstall(in.View)
	case protocol.LeaseChanged:
		r.lease = in.Held
	case protocol.Receive:
		r.onReceive(in.From, in.Msg)
	case protocol.TableChanged:
		r.places.onEntries(in.Entries)
	case protocol.LinkUp:
		r.places.onLinkUp(in.Peer)
	case protocol.Wanted:
		r.onWanted(in.Shard)
	case protocol.Misrouted:
		r.places.onMisrouted(in.From, in.Shard)
	case protocol.Measured:
		r.onMeasured(in)
	case protocol.Leave:
		r.onLeave()
	case protocol.Quit:
		r.onQuit()
	case protocol.StopShards:
		r.stopper.onStopShards(&r.places, in.Shards)
	case protocol.Dropped:
		r.onDropped()
	case protocol.ShardWaits:
		r.places.onShardWaits(in.Shard)
	case protocol.ShardLeased:
		r.places.onShardLeased(in.Shard)
	case protocol.ShardUnable:
		r.places.onShardUnable(in.Shard)
	case protocol.ShardLost:
		r.places.onShardLost(in.Shard)
	case protocol.ShardStarted:
		r.places.onShardStarted(in.Shard)
	case protocol.ShardDrained:
		r.places.onShardDrained(in.Shard, in.HandOff)
	case protocol.ShardStopped:
		r.places.onShardStopped(in.Shard, in.HandOff)
	}
	r.maybeEmpty()
	r.maybeLeft()
	r.places.settle()
	r.arm()
	return &r.fx
}

func (r *Region) onReceive(from protocol.UID, m protocol.Message) {
	switch m := m.(type) {
	case protocol.Registered:
		r.onRegistered(from, m)
	case protocol.Refused:
		r.onRefused(from, m)
	case protocol.StateFailing:
		r.registration.onStateFailing(from, m)
	case protocol.Homes:
		r.onHomes(from, m)
	case protocol.HostShards:
		r.onHostShards(from, m)
	case protocol.Begin:
		r.places.onBegin(from, m.Moves, m.Regions)
	case protocol.Fence:
		r.places.onFence(from, m)
	case protocol.Inquire:
		r.onInquire(from, m)
	case protocol.Absent:
		r.onAbsent(from)
	case protocol.Compare:
		r.registration.sayRole(from)
	case protocol.LeaveReply:
		r.onLeaveReply(m)
	case protocol.AtRest:
		r.stopper.onAtRest(m)
	case protocol.Ended:
		r.onEnded(from, m)
	case protocol.GetHomes:
		r.places.onAskedRegion(from, m)
	default:
		r.counts[protocol.CountOtherRole]++
	}
}

// Deadline is when the region wants a Tick; the zero time means never.
func (r *Region) Deadline() time.Time {
	if r.asker.askAt.IsZero() || !r.retryAt.IsZero() && r.retryAt.Before(r.asker.askAt) {
		return r.retryAt
	}
	return r.asker.askAt
}

// Registered reports whether the coordinator of the view knows this region, and whether any ever
// has.
func (r *Region) Registered() (now, ever bool) { return r.registration.known, r.registration.joined }

// Coordinator is the member that the view has in charge of the type, whose coordinator is to act; 0:
// there is none. It is absent if the type was closed there and not started again. What it says of its
// state, which it cannot read or write, is in failing; empty: nothing.
func (r *Region) Coordinator() (u protocol.UID, absent bool, failing string) {
	return r.registration.coordinator, r.registration.absent, r.registration.failing.why
}

// Predecessor is what holds for the regions that come after this one on its node.
func (r *Region) Predecessor() protocol.Predecessor {
	return protocol.Predecessor{Floor: r.registration.floor, Incarnation: r.registration.life + 1}
}

// Stats are the named counters, in a fixed order.
func (r *Region) Stats() []protocol.Counter { return r.counts.Stats() }
