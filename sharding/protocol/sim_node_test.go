package protocol_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	"github.com/coterie-go/coterie/sharding/protocol/shard"
)

// simNode is one incarnation of a node: the machines, and a model of the runtime that drives them.
type simNode struct {
	w     *world
	uid   protocol.UID
	proxy bool

	alive, leaving, lease, cut bool

	coordinator *coordinator.Coordinator
	region      *region.Region
	shards      map[protocol.ShardID]*simShard
	routes      []protocol.Route
	buffers     map[protocol.ShardID][]simMsg
	lanes       map[protocol.UID]*simLane
	inbox       []protocol.RegionInput
	timers      map[string]time.Time
	view        *view.View
	absence     simAbsence
	cfg         protocol.Config
	left        bool                     // the region has said so
	hold        simHold                  // of the coordinator's lease
	rested      map[protocol.ShardID]int // how often it has heard that a shard was stopped for good
}

// simShard is a hosted shard: its machine and its entities.
type simShard struct {
	m        *shard.Shard
	id       protocol.ShardID
	entities map[protocol.EntityID]*simEntity
	drain    protocol.Token // DrainMailboxes that is not answered
	writing  int
	granted  time.Time // when its lease was
}

// simEntity is a mailbox and, while alive, an incarnation. Messages behind the mark belong to the
// next one.
type simEntity struct {
	mailbox []simMsg
	alive   bool
	closing bool
	mark    int // while closing: how many messages this incarnation still handles
	busy    bool
	pause   bool // handles nothing more: its node lost the lease or it was forced
}

// simLane is the data lane to one peer: FIFO.
type simLane struct {
	last time.Time
	down bool
	held []any // sent while it was down
}

func newSimNode(w *world, uid protocol.UID, proxy bool) *simNode {
	n := &simNode{
		w: w, uid: uid, proxy: proxy, alive: true, shards: map[protocol.ShardID]*simShard{},
		routes:  make([]protocol.Route, w.opt.shards),
		buffers: map[protocol.ShardID][]simMsg{}, lanes: map[protocol.UID]*simLane{}, timers: map[string]time.Time{},
		rested: map[protocol.ShardID]int{},
	}
	if !w.opt.absences || w.chance(60) {
		n.makeMachines(protocol.Predecessor{})
	}
	return n
}

// makeMachines starts the type on the node.
func (n *simNode) makeMachines(past protocol.Predecessor) {
	w := n.w
	n.left, n.hold = false, simHold{}
	var store protocol.StoreID
	if w.opt.leases {
		store = "store"
	}
	n.cfg = protocol.Config{
		Identity: protocol.Identity{Name: "t", Role: "r", Shards: w.opt.shards}, Self: n.uid, Proxy: n.proxy,
		Remember: protocol.Remember[protocol.StoreID]{
			Entities: w.opt.remember, RestartBackoff: 200 * time.Millisecond,
		}, Predecessor: past,
		Coordination: protocol.Coordination{RetryInterval: 100 * time.Millisecond}, HandOff: protocol.HandOff{
			BeginTimeout: time.Second, FinishTimeout: 3 * time.Second, StopTimeout: 500 * time.Millisecond,
		},
		Passivation: protocol.Passivation{StopTimeout: 500 * time.Millisecond},
		Rebalance:   protocol.Rebalance{Interval: 300 * time.Millisecond},
		Leases: protocol.Leases[protocol.StoreID]{
			Shards: store, Coordinator: store, RetryInterval: 150 * time.Millisecond,
		},
		Allocation: protocol.Allocation{Strategy: w.strategy, StrategyTimeout: time.Second},
		Turns:      &protocol.Turns{},
	}
	n.cfg.Plant(w.opt.defects)
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(uint64(n.uid), w.rng.Uint64())) }
	var err error
	if n.region, err = region.New(n.cfg, rng()); err != nil {
		panic(err)
	}
	if !n.proxy {
		if n.coordinator, err = coordinator.New(n.cfg, rng()); err != nil {
			panic(err)
		}
	}
}

func (n *simNode) install(v *view.View) {
	if !n.alive {
		return
	}
	if n.view == nil || n.view.Epoch < v.Epoch {
		n.view = v
	}
	n.post(protocol.Install{View: v})
	n.stepCoordinator(protocol.Install{View: v})
}

func (n *simNode) setLease(held bool) {
	n.lease = held
	n.post(protocol.LeaseChanged{Held: held})
	n.stepCoordinator(protocol.LeaseChanged{Held: held})
}

func (n *simNode) table(es []protocol.Entry) {
	if n.alive && !n.cut {
		n.post(protocol.TableChanged{Entries: es})
		n.stepCoordinator(protocol.TableChanged{Entries: es})
	}
}

// freeze stops all handlers: the lease is over.
func (n *simNode) freeze() {
	for _, s := range slices.Sorted(maps.Keys(n.shards)) {
		for _, id := range slices.Sorted(maps.Keys(n.shards[s].entities)) {
			n.ended(id, n.shards[s].entities[id])
		}
	}
}

func (n *simNode) die(why string) {
	if !n.alive {
		return
	}
	n.freeze()
	n.alive, n.lease, n.cut = false, false, true
	n.w.bequeath(n, why)
	for _, s := range slices.Sorted(maps.Keys(n.shards)) {
		for _, id := range slices.Sorted(maps.Keys(n.shards[s].entities)) {
			n.w.lose(why, len(n.shards[s].entities[id].mailbox))
		}
	}
	for _, s := range slices.Sorted(maps.Keys(n.buffers)) {
		n.w.lose(why, len(n.buffers[s]))
	}
}

func (w *world) lose(why string, k int) {
	if k > 0 {
		w.lost[why] += k
	}
}

// postTime is how long an input waits in the inbox at most.
const postTime = 2 * time.Millisecond

// post puts an input into the region's inbox; it is stepped a little later, in order.
func (n *simNode) post(in protocol.RegionInput) {
	if n.region == nil {
		return
	}
	n.inbox = append(n.inbox, in)
	if len(n.inbox) == 1 {
		n.w.after(n.w.between(0, postTime), n.drainInbox)
	}
}

func (n *simNode) drainInbox() {
	ins := n.inbox
	n.inbox = nil
	for _, in := range ins {
		if n.alive {
			n.stepRegion(in)
		}
	}
}

func (n *simNode) stepRegion(in protocol.RegionInput) {
	fx := n.region.Step(n.w.now, in)
	n.left = n.left || fx.Left
	n.w.verbose("%v region %T%+v\n%s", n.uid, in, in, fx)
	n.checked("region", n.region.Check())
	for _, a := range fx.Do {
		n.act(a)
	}
	n.send(fx.Send)
	for _, s := range fx.AtRest {
		n.rested[s]++
	}
	if fx.Left && n.leaving {
		n.goWhenSent()
	}
	n.arm("region", n.region.Deadline(), func() { n.stepRegion(protocol.Tick{}) })
}

// goWhenSent ends a node that has left, when its lanes are empty.
func (n *simNode) goWhenSent() {
	for _, l := range n.lanes { // order: all are looked at
		if l.down || l.last.After(n.w.now) {
			n.w.after(20*time.Millisecond, n.goWhenSent)
			return
		}
	}
	n.stepCoordinator(protocol.Resign{})
	n.w.remove(n)
	n.w.after(100*time.Millisecond, func() { n.die("left") })
}

func (n *simNode) stepCoordinator(in protocol.CoordinatorInput) {
	if n.coordinator == nil || !n.alive {
		return
	}
	if n.hold.held && !n.w.holdsLease(coordinatorName, n.coordinator) {
		if l, is := in.(protocol.LeaseLost); !is || l.Gen != n.hold.gen {
			n.stepCoordinator(protocol.LeaseLost{Gen: n.hold.gen})
		}
	}
	me := n.coordinator
	mine := func(in protocol.CoordinatorInput) {
		if n.coordinator == me {
			n.stepCoordinator(in)
		}
	}
	n.hold.hear(in)
	fx := me.Step(n.w.now, in)
	n.hold.asked(fx.Lease)
	n.w.verbose("%v coordinator %T%+v\n%s", n.uid, in, in, fx)
	n.checked("coordinator", n.coordinator.Check())
	for _, w := range fx.Write {
		n.w.write(n, w, func(err error) { mine(protocol.Wrote{ID: w.ID, Err: err}) })
	}
	for _, r := range fx.Read {
		n.w.read(n, r, func(in protocol.DidRead) { mine(in) })
	}
	n.leaseOps(coordinatorName, n.coordinator, fx.Lease, func(in any) { mine(in.(protocol.CoordinatorInput)) })
	n.send(fx.Send)
	for _, q := range fx.Consult {
		n.w.after(n.w.thinking(), func() { mine(protocol.Advised{Advice: q.Ask(n.w.strategy)}) })
	}
	n.arm("coordinator", n.coordinator.Deadline(), func() { n.stepCoordinator(protocol.Tick{}) })
}

func (n *simNode) stepShard(s protocol.ShardID, in protocol.ShardInput) {
	sh := n.shards[s]
	if sh == nil || !n.alive {
		return
	}
	fx := sh.m.Step(n.w.now, in)
	n.w.verbose("%v shard %v %T%+v\n%s", n.uid, s, in, in, fx)
	n.checked("shard", sh.m.Check())
	mine := func(in protocol.ShardInput) {
		if n.shards[s] == sh {
			n.stepShard(s, in)
		}
	}
	for _, w := range fx.Write {
		sh.writing++
		n.w.write(n, w, func(err error) { sh.writing--; mine(protocol.Wrote{ID: w.ID, Err: err}) })
	}
	for _, r := range fx.Read {
		n.w.read(n, r, func(in protocol.DidRead) { mine(in) })
	}
	n.leaseOps(shardName(s), sh, fx.Lease, func(in any) { mine(in.(protocol.ShardInput)) })
	actions, region := slices.Clone(fx.Do), slices.Clone(fx.Region)
	n.arm("shard"+s.String(), sh.m.Deadline(), func() { mine(protocol.Tick{}) })
	for _, a := range actions {
		n.shardAct(s, sh, a)
	}
	for _, in := range region {
		n.post(in)
	}
}

func (n *simNode) checked(what string, err error) {
	if err != nil {
		n.w.fail("%v %s: %v", n.uid, what, err)
	}
}

// arm keeps at most one timer per machine.
func (n *simNode) arm(what string, at time.Time, fire func()) {
	if n.timers[what].Equal(at) {
		return
	}
	n.timers[what] = at
	if at.IsZero() {
		return
	}
	n.w.after(max(0, at.Sub(n.w.now)), func() {
		if n.alive && n.timers[what].Equal(at) {
			delete(n.timers, what)
			fire()
		}
	})
}

// send gives messages to the network. Without loss they still overtake each other.
func (n *simNode) send(es []protocol.Envelope) {
	for _, e := range es {
		b := protocol.AppendMessage(nil, e.Msg)
		copies := 1
		if n.w.opt.lossy && !n.w.healed && e.To != n.uid {
			if n.w.chance(6) {
				copies = 0
			} else if n.w.chance(4) {
				copies = 2
			}
		}
		for range copies {
			d := n.w.between(0, 15*time.Millisecond)
			if n.w.opt.lossy && !n.w.healed && n.w.chance(3) {
				d = n.w.between(0, 900*time.Millisecond)
			}
			n.w.after(d, func() { n.w.deliver(n, e.To, b) })
		}
	}
}

func (w *world) deliver(from *simNode, to protocol.UID, b []byte) {
	n := w.nodes[to]
	if n == nil || !n.alive || n.cut {
		return
	}
	m, err := protocol.DecodeMessage(b)
	if err != nil {
		w.fail("%v", err)
		return
	}
	if n.region == nil {
		if answer := n.absence.who.Answer(m); answer != nil {
			n.send([]protocol.Envelope{{To: from.uid, Msg: answer}})
		}
		return
	}
	if m.ToCoordinator() {
		n.stepCoordinator(protocol.Receive{From: from.uid, Msg: m})
		return
	}
	n.post(protocol.Receive{From: from.uid, Msg: m})
}
