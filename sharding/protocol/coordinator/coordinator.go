package coordinator

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Coordinator decides where the shards of one entity type live. Every node with the role has one;
// it acts only on the oldest of the installed view, and only while the node holds its lease.
//
//	idle ──oldest──► reading ──majority read──► inquiring ──all members reported──► active
//	  ▲                                                                               │
//	  └───────────────────────── no longer the oldest ◄───────────────────────────────┘
//
// With CoordinatorLease it waits for its lease before it is reading, until its lease is granted, and begins
// anew when that is lost.
//
// It knows of each shard:
//
//	empty ──asked──► wanted ──Allocate──► writing ──majority──► hosting ──Started──► hosted ──move──► fencing ──all Begins answered──► stopping
//	                   ▲                     ▲                                          │                │                              │
//	                   │                     └────────────── abort: the same home ◄─────┼────────────────┴──────────────────────────────┤
//	                   └──────────────────── the home left the view ◄───────────────────┴───────────────────────── the owner has stopped
//
// In a view that is Closing no hand-off begins, and a shard that has lost its home is ended instead
// of wanted. One that is stopped for good goes from stopping to clearing, and is empty when a
// majority knows that it has no home. Nothing waits for anything else: thousands of shards may be
// in each state. What is told to one node in one Step travels in one message.
type Coordinator struct {
	cfg protocol.Config
	rng *rand.Rand
	fx  protocol.CoordinatorEffects
	now time.Time

	view        *membership.View
	me          membership.Member // this node in view
	lease       bool
	mode        mode
	floor       protocol.Token // of this reign; every region of the view refuses what is below
	seq         uint64
	unreachable map[protocol.UID]bool
	absent      map[protocol.UID]bool // members of the view that have not started the type, as they said

	resigned     bool // this node is about to stop
	roles        roles
	outranked    other
	leaseState   protocol.LeaseState // of the coordinator's lease
	takeover     takeover
	shards       []shardState // by ShardID
	moves        map[protocol.ShardID]*move
	refused      map[protocol.UID]bool  // of the view, whose settings are others and which was told
	peers        map[protocol.UID]*peer // regions and proxies of the view that have registered
	waiters      map[protocol.ShardID][]protocol.UID
	passed       map[protocol.UID]time.Time // until when regions are passed over that cannot get leases
	leaseBackoff leaseBackoff
	departed     map[protocol.ShardID]time.Time      // since when those are on their way that have moved
	stops        map[protocol.ShardID][]protocol.UID // that stop for good, and the nodes that ask for it
	unallocated  []protocol.ShardID                  // wanted; no region could take them yet
	opened       bool                                // MinRegions have been registered

	needs     allocation.Needs
	alloc     *allocation.Allocations             // what the strategy sees; nil: to be made anew
	grouped   map[protocol.UID][]protocol.ShardID // by home, for alloc; nil: to be made anew
	records   []record                            // by ShardID, if the strategy needs loads
	locations map[protocol.ShardID]string         // if the strategy needs them
	asked     asked                               // of the strategy
	moving    bool                                // the last round of rebalancing moved shards
	regionsAt time.Time                           // when members last came, went or changed

	writes        map[uint64]protocol.StateWrite // under way
	failed        []protocol.StateWrite          // to be repeated with the next tick
	tableWrites   int                            // of writes, those of the table
	storeFailures []storeFailure                 // what cannot be read or written now, at most one for each stateOp
	remembered    protocol.StateRead             // under way or failed; ID 0: done
	outOfRange    outOfRange
	ids           uint64 // of reads and writes

	out         outbox
	ticks       uint32 // counts retry ticks, so that what was just sent is not repeated
	retryAt     time.Time
	rebalanceAt time.Time

	counts protocol.Counters
}

type mode uint8

const (
	idle mode = iota
	leaseWaiting
	reading
	inquiring
	active
)

var modeNames = [...]string{"idle", "lease-waiting", "reading", "inquiring", "active"}

// move is a hand-off in progress.
type move struct {
	id       protocol.Token
	cohort   *cohort
	waiting  []protocol.UID // members of the cohort that have not answered Begin
	deadline time.Time
	sent     uint32
	ends     bool // no home comes after
}

// cohort are the regions that take part in the hand-offs begun in one Step.
type cohort struct {
	seq     uint64
	regions []protocol.UID
}

// peer is a registered region or proxy.
type peer struct {
	uid     protocol.UID
	proxy   bool
	leaving bool
	life    uint32    // which region of its node it is
	left    bool      // it hosts nothing and never will
	joined  bool      // it routes already
	acked   bool      // its registration is known to a majority, so the next coordinator will know it too
	sure    bool      // it asks before it leaves, for it has reported or confirmed its registration
	told    uint32    // the tick in which Registered was sent last
	count   int       // shards that count
	drainAt time.Time // when to try again to move its shards away
}

// New makes a coordinator. It is idle until a view is installed.
func New(cfg protocol.Config, rng *rand.Rand) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{cfg: cfg.WithDefaults(), rng: rng, unreachable: map[protocol.UID]bool{}, refused: map[protocol.UID]bool{}, absent: map[protocol.UID]bool{}, seq: cfg.Predecessor.Seq}
	c.needs = allocation.NeedsOf(c.cfg.Strategy)
	c.becomeIdle()
	return c, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (c *Coordinator) Step(now time.Time, in protocol.CoordinatorInput) *protocol.CoordinatorEffects {
	c.fx = protocol.CoordinatorEffects{
		Write: c.fx.Write[:0], Read: c.fx.Read[:0], Lease: c.fx.Lease[:0], Send: c.fx.Send[:0], Forward: c.fx.Forward[:0],
		Consult: c.fx.Consult[:0], Notify: c.fx.Notify[:0],
	}
	c.now = now
	switch in := in.(type) {
	case protocol.Tick:
		c.onTick()
	case protocol.Install:
		c.onInstall(in.View)
	case protocol.Lease:
		c.onLease(in.Held)
	case protocol.Receive:
		c.onReceive(in.From, in.Msg)
	case protocol.TableChanged:
		c.onTable(in.Entries)
	case protocol.Wrote:
		c.onWrote(in.ID, in.Err)
	case protocol.DidRead:
		c.onRead(in)
	case protocol.Reachable:
		c.onReachable(in.UID, in.OK)
	case protocol.RememberedChanged:
		c.onRemembered(in.Shards)
	case protocol.StartedElsewhere:
		c.onStartedElsewhere(in.IDs)
	case protocol.LocationsChanged:
		c.onLocations(in)
	case protocol.Advised:
		c.onAdvised(in.Advice)
	case protocol.Resign:
		c.onResign()
	case protocol.LeaseGranted, protocol.LeaseRefused, protocol.LeaseLost:
		c.onLeaseAnswer(in)
	}
	c.flush()
	return &c.fx
}

func (c *Coordinator) onReceive(from protocol.UID, m protocol.Message) {
	switch {
	case c.tookRole(from, m):
		return
	case c.mode == reading || c.mode == inquiring:
		c.onEarly(from, m)
		return
	case c.mode != active || !c.lease:
		c.counts[protocol.CountNotActing]++
		return
	}
	switch m := m.(type) {
	case protocol.Register:
		c.onRegister(from, m)
	case protocol.Confirm:
		c.onConfirm(from, m)
	case protocol.GetHomes:
		c.onGetHomes(from, m.Shards)
	case protocol.Started:
		c.onStarted(from, m.Shards)
	case protocol.BeginAck:
		c.onBeginAck(from, m.Shards)
	case protocol.ShardsStopped:
		c.onShardsStopped(from, m.Shards)
	case protocol.LeaveRequest:
		c.onLeaveRequest(from, m)
	case protocol.StopShards:
		c.onStopShards(from, m.Shards)
	case protocol.Loads:
		c.onLoads(from, m)
	case protocol.Unable:
		c.onUnable(from, m.Shards)
	case protocol.AbsentReport:
		c.onAbsentReport(from, m)
	case protocol.Report:
		c.counts[protocol.CountLate]++
	default:
		c.counts[protocol.CountOtherRole]++
	}
}

// onEarly takes what may come before the coordinator acts: reports, and what is kept for later.
func (c *Coordinator) onEarly(from protocol.UID, m protocol.Message) {
	t := &c.takeover
	if !c.view.Has(from) {
		c.counts[protocol.CountOtherRole]++
		return
	}
	switch m := m.(type) {
	case protocol.Report:
		if c.mode == inquiring && c.lease {
			c.onReport(from, m)
		}
	case protocol.AbsentReport:
		if c.mode == inquiring && c.lease {
			c.onAbsentReport(from, m)
		}
	case protocol.Register:
		t.registers[from] = m
	default:
		c.counts[protocol.CountNotActing]++
	}
}

// Deadline is when the coordinator wants a Tick; the zero time means never.
func (c *Coordinator) Deadline() time.Time {
	var d time.Time
	for _, t := range [...]time.Time{c.retryAt, c.rebalanceAt, c.leaseState.Deadline()} {
		if !t.IsZero() && (d.IsZero() || t.Before(d)) {
			d = t
		}
	}
	return d
}

// Stats are the named counters, in a fixed order.
func (c *Coordinator) Stats() []protocol.Counter { return c.counts.Stats() }

// Acts says whether this coordinator decides now.
func (c *Coordinator) Acts() bool { return c.mode == active && c.lease }

// Predecessor is what holds for the coordinators that come after this one on its node.
func (c *Coordinator) Predecessor() protocol.Predecessor { return protocol.Predecessor{Seq: c.seq} }

func (c *Coordinator) notify(e protocol.Event) { c.fx.Notify = append(c.fx.Notify, e) }

// next makes the token of the next decision.
func (c *Coordinator) next() protocol.Token {
	c.seq++
	if c.seq > protocol.SeqMax || c.me.UpNumber > protocol.UpMax {
		panic("sharding/protocol: tokens are exhausted")
	}
	return protocol.Token{Epoch: uint64(c.view.Epoch), Up: c.me.UpNumber, Seq: c.seq}
}

func (c *Coordinator) nextID() uint64 {
	c.ids++
	return c.ids
}

// at finds the state of a shard; a shard beyond the number of shards is counted.
func (c *Coordinator) at(s protocol.ShardID) (*shardState, bool) {
	if int64(s) >= int64(len(c.shards)) {
		c.counts[protocol.CountOutOfRange]++
		return nil, false
	}
	return &c.shards[s], true
}

// peersByUID are the registered regions and proxies in a fixed order.
func (c *Coordinator) peersByUID() []*peer {
	ps := make([]*peer, 0, len(c.peers))
	for _, p := range c.peers { // order: sorted below
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *peer) int {
		if a.uid < b.uid {
			return -1
		}
		return 1
	})
	return ps
}

func (c *Coordinator) onLease(held bool) {
	if c.lease == held {
		return
	}
	c.lease = held
	if held && c.mode > leaseWaiting {
		c.retryAt = c.now // what was not sent meanwhile
	}
}

func (c *Coordinator) onReachable(u protocol.UID, ok bool) {
	if ok {
		delete(c.unreachable, u)
	} else {
		c.unreachable[u] = true
	}
}

// onTick repeats what has not been answered, gives up hand-offs that took too long, and looks at
// the balance.
func (c *Coordinator) onTick() {
	if !c.retryAt.IsZero() && !c.now.Before(c.retryAt) {
		c.ticks++
		c.retryAt = c.now.Add(c.cfg.RetryInterval / 4)
		c.retry()
	}
	if !c.rebalanceAt.IsZero() && !c.now.Before(c.rebalanceAt) {
		c.rebalanceAt = c.now.Add(c.cfg.RebalanceInterval)
		c.rebalance()
	}
	if c.leaseState.Overdue(c.now) {
		c.onLeaseDue()
	}
}

func (c *Coordinator) retry() {
	if !c.lease {
		return
	}
	c.retryWrites()
	c.alarmStoreFailures()
	if c.mode >= reading {
		c.askRoles()
	}
	switch c.mode {
	case reading, inquiring:
		c.retryTakeover()
	case active:
		c.retryRead(&c.remembered)
		c.retryOutOfRange()
		c.takeBackIn()
		c.retryWelcomes()
		c.retryHosts()
		c.retryMoves()
		c.drainLeaving()
		c.maybeOverdue()
		c.allocateAll()
	}
}
