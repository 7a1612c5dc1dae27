package sim

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// shardDriver is the sharding of a process: one typeDriver per entity type.
type shardDriver struct {
	p       *Process
	types   []*typeDriver
	leaving bool
	view    *view.View // as the machines have it
	// membersAt is when its members were last others than before.
	membersAt int64
}

// typeDriver carries out what Coordinator, Region and Shards of one entity type want, and plays the
// data plane between them.
type typeDriver struct {
	p     *Process
	index int
	cfg   protocol.Config

	coord      *coordinator.Coordinator
	region     *region.Region
	coordTimer timer
	regTimer   timer
	coordHeld  bool // what the machine was told about the lease
	regHeld    bool
	steps      int
	left       bool
	closing    bool    // by its users, while the node stays
	defects    defects // that are planted
	coordTerm  *term   // the coordinator's lease; nil: it has none
	coordGen   uint64

	limit int // on active entities; 0: none

	located crdt.Reader  // what the coordinator knows of where shards shall live
	wanted  *crdt.Reader // what is known of it here; nil: nothing yet

	coordLeaser *leaser
	leasers     map[protocol.ShardID]*leaser

	table   map[protocol.ShardID]protocol.Entry // as last seen; only looked up
	known   map[protocol.ShardID]bool           // shards with remembered ids, likewise
	routes  map[protocol.ShardID]protocol.Route
	buffers map[protocol.ShardID][]*tell
	shards  map[protocol.ShardID]*shardRun
}

func newShardDriver(p *Process) *shardDriver {
	d := &shardDriver{p: p}
	if p.w.opt.Shards == 0 {
		return d
	}
	for i := range p.w.opt.EntityTypes {
		d.types = append(d.types, newTypeDriver(p, i))
	}
	return d
}

func newTypeDriver(p *Process, index int) *typeDriver {
	d := &typeDriver{
		p: p, index: index, table: map[protocol.ShardID]protocol.Entry{}, known: map[protocol.ShardID]bool{},
		routes: map[protocol.ShardID]protocol.Route{}, buffers: map[protocol.ShardID][]*tell{},
		shards: map[protocol.ShardID]*shardRun{},
	}
	o := p.w.opt
	d.defects = o.planted()
	if !(o.Remember && index == 0) {
		d.limit = o.ActiveLimit
	}
	d.coordLeaser, d.leasers = p.newLeaser(leaseName{typ: index, coord: true}), map[protocol.ShardID]*leaser{}
	d.cfg = protocol.Config{
		Name: typeName(index), Role: role, Self: view.UID(p.uid), Shards: o.Shards,
		Remember:   protocol.Remember[protocol.StoreID]{Entities: o.Remember && index == 0},
		Proxy:      o.Proxy && p.slot.index == o.Nodes-1 && o.Nodes > 1,
		Rebalance:  protocol.Rebalance{Interval: o.Rebalance, Delay: o.delay()},
		Allocation: protocol.Allocation{Strategy: p.w.allocator()},
		HandOff: protocol.HandOff{StopTimeout: o.StopTimeout, FinishTimeout: 5 * o.StopTimeout,
			BeginTimeout: 3 * o.StopTimeout}, Passivation: passivation.Strategy{StopTimeout: o.StopTimeout},
		Leases: protocol.Leases[protocol.StoreID]{
			Shards: storeIf(o.ShardLeases), Coordinator: storeIf(o.CoordLeases), RetryInterval: o.LeaseRetry,
		},
		Defects: o.shardDefects(),
	}
	d.makeMachines()
	return d
}

func (d *typeDriver) makeMachines() {
	n := d.p.uid + uint64(d.index) + uint64(d.cfg.Predecessor.Incarnation)<<32
	var err error
	if d.coord, err = coordinator.New(d.cfg, d.p.w.rs.stream("coordinator", n)); err == nil {
		d.region, err = region.New(d.cfg, d.p.w.rs.stream("region", n))
	}
	if err != nil {
		panic(err)
	}
}

// mayHost reports whether shards can live here.
func (d *typeDriver) mayHost() bool { return !d.cfg.Proxy && !d.closing }

// storeIf names the store of leases, if leases are taken.
func storeIf(leases bool) protocol.StoreID {
	if leases {
		return "store"
	}
	return ""
}

func typeName(index int) string { return fmt.Sprintf("T%d", index) }

func (d *shardDriver) start() {
	for _, t := range d.types {
		t.start()
	}
}

func (d *typeDriver) start() {
	d.startStrategy()
	d.stepCoord(protocol.Tick{})
	d.stepRegion(protocol.Tick{})
	d.subscribe(protocol.StateRead{Kind: protocol.StateHomes}, func(r protocol.DidRead) { d.tableChanged(r.Homes) })
	if d.cfg.Remember.Entities {
		d.subscribe(protocol.StateRead{Kind: protocol.StateRemembered},
			func(r protocol.DidRead) { d.rememberedChanged(r.Shards) })
	}
}

// subscribe follows a piece of the type's state; what changed is posted to the machines.
func (d *typeDriver) subscribe(r protocol.StateRead, changed func(protocol.DidRead)) {
	d.p.rep.subscribe(replicator.Subscribe{Key: r.Key(d.cfg.Name)}, func(c effect.Change) {
		got := r.Result(c.Reader, nil)
		d.p.post(func() { changed(got) })
	})
}

func (d *typeDriver) tableChanged(all []protocol.Entry) {
	var news []protocol.Entry
	for _, e := range all {
		if was, ok := d.table[e.Shard]; !ok || was != e {
			d.table[e.Shard] = e
			news = append(news, e)
		}
	}
	if len(news) > 0 {
		d.stepCoord(protocol.TableChanged{Entries: news})
		d.stepRegion(protocol.TableChanged{Entries: news})
	}
}

func (d *typeDriver) rememberedChanged(all []protocol.ShardID) {
	var news []protocol.ShardID
	for _, s := range all {
		if !d.known[s] {
			d.known[s] = true
			news = append(news, s)
		}
	}
	if len(news) > 0 {
		d.stepCoord(protocol.RememberedChanged{Shards: news})
	}
}

// stepCoord lets the Coordinator take one input, after what it must know about the lease.
func (d *typeDriver) stepCoord(in protocol.CoordinatorInput) {
	now := d.p.time()
	if held := d.p.mem.holds(now); held != d.coordHeld {
		d.coordHeld = held
		d.applyCoord(protocol.Lease{Held: held})
	}
	d.expelled()
	d.applyCoord(in)
}

func (d *typeDriver) applyCoord(in protocol.CoordinatorInput) {
	p, w := d.p, d.p.w
	if !p.alive {
		return
	}
	if w.trace.watching() {
		w.trace.line(p, "%s C <- %T %v", d.cfg.Name, in, in)
	}
	e := d.coord.Step(p.time(), in)
	if w.trace.watching() {
		w.trace.line(p, "%s C -> %+v", d.cfg.Name, *e)
	}
	d.check(d.coord)
	me := d.coord
	mine := func(in protocol.CoordinatorInput) { // and not one that was made since
		if d.coord == me {
			d.stepCoord(in)
		}
	}
	for _, wr := range e.Write {
		d.write(wr, func(err error) { mine(protocol.Wrote{ID: wr.ID, Err: err}) })
	}
	for _, rd := range e.Read {
		if rd.Kind == protocol.StateLocations {
			d.readLocations(rd)
			continue
		}
		d.read(rd, func(r protocol.DidRead) { mine(r) })
	}
	for _, op := range e.Lease {
		d.coordLeaseOp(op)
	}
	d.checkReign()
	d.checkBegins(e.Send)
	for _, env := range e.Send {
		d.send(env)
	}
	for _, q := range e.Consult {
		d.consult(q)
	}
	p.arm(&d.coordTimer, d.coord.Deadline(), func() { d.stepCoord(protocol.Tick{}) })
}

func (d *typeDriver) stepRegion(in protocol.RegionInput) {
	now := d.p.time()
	if held := d.p.mem.holds(now); held != d.regHeld {
		d.regHeld = held
		d.applyRegion(protocol.Lease{Held: held})
	}
	d.applyRegion(in)
}

func (d *typeDriver) applyRegion(in protocol.RegionInput) {
	p, w := d.p, d.p.w
	if !p.alive {
		return
	}
	if w.trace.watching() {
		w.trace.line(p, "%s R <- %T %v", d.cfg.Name, in, in)
	}
	e := d.region.Step(p.time(), in)
	if w.trace.watching() {
		w.trace.line(p, "%s R -> %s", d.cfg.Name, printRegion(e))
	}
	d.check(d.region)
	left := e.Left
	for _, a := range append([]protocol.RegionAction(nil), e.Do...) {
		d.act(a)
	}
	for _, env := range e.Send {
		d.checkUnable(env.Msg)
		d.send(env)
	}
	p.arm(&d.regTimer, d.region.Deadline(), func() { d.stepRegion(protocol.Tick{}) })
	if left && !d.left {
		d.left = true
		p.post(p.shard.maybeStopped)
	}
}

func printRegion(e *protocol.RegionEffects) string {
	s := fmt.Sprintf("send%v notify%v left=%v", e.Send, e.Notify, e.Left)
	for _, a := range e.Do {
		s += fmt.Sprintf(" %T%v", a, a)
	}
	return s
}

func (d *typeDriver) check(m interface{ Check() error }) {
	every := d.p.w.opt.CheckEvery
	if d.steps++; every < 0 || d.steps%every != 0 {
		return
	}
	if err := m.Check(); err != nil {
		d.p.w.violate("sharding.Check", "%v %s: %v", d.p, d.cfg.Name, err)
	}
}

// write and read carry out what the machines want of the replicated state, at a majority.
func (d *typeDriver) write(wr protocol.StateWrite, done func(error)) {
	if d.defects.forgetful && wr.Kind == protocol.StateIDs {
		d.p.post(func() { done(nil) })
		return
	}
	d.p.rep.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: wr.Key(d.cfg.Name), Write: quorum.Majority, Mutate: wr.Mutate}
	}, func(r effect.Result) {
		err := r.Err
		d.p.post(func() { done(err) })
	})
}

func (d *typeDriver) read(rd protocol.StateRead, done func(protocol.DidRead)) {
	d.p.rep.call(func(id uint64) replicator.Input {
		return replicator.Get{ID: id, Key: rd.Key(d.cfg.Name), Read: quorum.Majority}
	}, func(r effect.Result) {
		got := rd.Result(r.Reader, r.Err)
		d.p.post(func() { done(got) })
	})
}

// send puts a message of a machine on the control lane; one to the own process is looped back in a
// later event.
func (d *typeDriver) send(env protocol.Envelope) {
	d.p.w.net.send(d.p, uint64(env.To), control, 0, toShard,
		protocol.AppendMessage([]byte{packMessage, byte(d.index)}, env.Msg))
}

// The first byte of a sharding packet.
const (
	packMessage = iota // type index, message of the protocol
	packTell           // see tell.pack
)

func (d *shardDriver) receive(pk packet) {
	t := d.types[pk.payload[1]]
	if pk.payload[0] == packTell {
		t.arrive(pk)
		return
	}
	m, err := protocol.DecodeMessage(pk.payload[2:])
	if err != nil {
		d.p.w.violate("wire", "sharding message does not decode: %v", err)
		return
	}
	if t.defects.mute && t.closing && t.left {
		return
	}
	in := protocol.Receive{From: view.UID(pk.from), Msg: m}
	if m.ToCoordinator() {
		t.stepCoord(in)
	} else {
		t.stepRegion(in)
	}
}

// linkReset tells the regions that the lanes to a peer are up again after having been down.
func (d *shardDriver) linkReset(other *Process) {
	for _, t := range d.types {
		t.stepRegion(protocol.LinkUp{Peer: view.UID(other.uid)})
	}
}

func (d *shardDriver) install(v *view.View) {
	if d.view == nil || !sameMembers(d.view, v) {
		d.membersAt = d.p.w.now
	}
	d.view = v
	if d.p.w.opt.planted().unaware {
		deaf := *v
		deaf.Closing, v = false, &deaf
	}
	for _, t := range d.types {
		t.stepCoord(protocol.Install{View: v})
		t.stepRegion(protocol.Install{View: v})
	}
}

func (d *shardDriver) reachable(uid view.UID, ok bool) {
	for _, t := range d.types {
		t.stepCoord(protocol.Reachable{UID: uid, OK: ok})
	}
}

// lease passes on that the lease was lost or won, and lets entities go on under it.
func (d *shardDriver) lease() {
	held := d.p.mem.holds(d.p.time())
	for _, t := range d.types {
		if held != t.coordHeld {
			t.stepCoord(protocol.Tick{})
		}
		if held != t.regHeld {
			t.stepRegion(protocol.Tick{})
		}
		if held {
			t.pumpAll()
		}
	}
}

// stop gives all shards away; when that is done the process says that it has stopped.
func (d *shardDriver) stop() {
	d.leaving = true
	for _, t := range d.types {
		t.stepRegion(protocol.Leave{})
	}
	d.maybeStopped()
}

func (d *shardDriver) maybeStopped() {
	if !d.leaving || d.p.mem.stopped {
		return
	}
	for _, t := range d.types {
		if !t.left {
			return
		}
	}
	for _, t := range d.types {
		if t.cfg.Leases.Coordinator.Given() {
			t.stepCoord(protocol.Resign{})
		}
	}
	d.p.mem.sayStopped()
}

// dropped tells the regions that the node is no member any more.
func (d *shardDriver) dropped() {
	for _, t := range d.types {
		t.stepRegion(protocol.Dropped{})
	}
}
