package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/shard"
)

// shardRun is one shard on one process: the machine, and what stands for its mailboxes and workers.
type shardRun struct {
	d      *typeDriver
	shard  protocol.ShardID
	m      *shard.Shard
	timer  timer
	closed bool
	// boxes are in order of first use, so that nothing depends on a map's order.
	boxes []*box
	byID  map[protocol.EntityID]*box
	drain *protocol.Token // DrainMailboxes was asked and not yet answered
	ids   map[protocol.EntityID]bool
	retry bool
	sub   uint64

	term    *term // of the shard's lease; nil: not granted yet
	writing int   // writes under way

	messages uint64        // handled since the shard was last measured
	busy     time.Duration // and what it took
	whole    bool          // it has been here since then

	policy *passivation.Policy // which entity goes when too many are active; nil: there is no limit
	slots  []*box              // of the policy
}

// box is an entity: its mailbox, and whether it lives.
type box struct {
	id      protocol.EntityID
	msgs    []*tell
	active  bool
	running bool // a handler runs
	// stopping: the entity stops after the first rest messages of its mailbox.
	stopping bool
	rest     int

	keeps
}

func (d *typeDriver) startShard(s protocol.ShardID, wait time.Duration) {
	if d.shards[s] != nil {
		d.p.w.violate("sharding", "%v %s: shard %v is started twice", d.p, d.cfg.Name, s)
		return
	}
	m, err := shard.New(d.cfg, d.p.w.rs.stream("shard", d.p.uid+uint64(s)<<8+uint64(d.index)), s)
	if err != nil {
		panic(err)
	}
	run := &shardRun{d: d, shard: s, m: m, byID: map[protocol.EntityID]*box{}, ids: map[protocol.EntityID]bool{}}
	d.shards[s] = run
	d.checkStart(s)
	if d.limit > 0 {
		run.policy = passivation.New(d.p.w.opt.Passivation, d.limit)
		d.reshare()
	}
	d.p.w.counts.Starts++
	d.p.post(func() { run.step(protocol.Open{Wait: wait}) })
	if d.cfg.Remember.Entities {
		run.sub = d.subscribeIDs(run)
	}
}

func (d *typeDriver) subscribeIDs(run *shardRun) uint64 {
	d.subscribe(protocol.StateRead{Kind: protocol.StateIDs, Shard: run.shard}, func(r protocol.DidRead) {
		if run.closed {
			return
		}
		var in protocol.IDsChanged
		now := map[protocol.EntityID]bool{}
		for _, id := range r.IDs {
			now[id] = true
			if !run.ids[id] {
				in.Added = append(in.Added, id)
			}
		}
		for _, id := range sortedIDs(run.ids) {
			if !now[id] {
				in.Removed = append(in.Removed, id)
			}
		}
		run.ids = now
		if len(in.Added)+len(in.Removed) > 0 {
			run.step(in)
		}
	})
	return d.p.rep.nextID
}

func sortedIDs(m map[protocol.EntityID]bool) []protocol.EntityID {
	out := make([]protocol.EntityID, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// closeShard drops the machine; what its mailboxes still hold ends with the reason.
func (d *typeDriver) closeShard(s protocol.ShardID, reason string) {
	run := d.shards[s]
	if run == nil {
		return
	}
	run.closed = true
	delete(d.shards, s)
	d.reshare()
	delete(d.p.rep.subs, run.sub)
	for _, b := range run.boxes {
		for _, m := range b.msgs {
			d.p.w.end(m, reason)
		}
		b.msgs, b.active = nil, false
	}
}

// step lets the Shard machine take one input.
func (r *shardRun) step(in protocol.ShardInput) {
	p, w := r.d.p, r.d.p.w
	if r.closed || !p.alive {
		return
	}
	if w.trace.watching() {
		w.trace.line(p, "%s S%v <- %T %v", r.d.cfg.Name, r.shard, in, in)
	}
	e := r.m.Step(p.time(), in)
	if w.trace.watching() {
		w.trace.line(p, "%s S%v -> write%d read%d reply%v region%v",
			r.d.cfg.Name, r.shard, len(e.Write), len(e.Read), e.Reply, e.Region)
	}
	r.d.check(r.m)
	do, up := slices.Clone(e.Do), slices.Clone(e.Region)
	for _, wr := range e.Write {
		r.writing++
		r.d.write(wr, func(err error) {
			r.writing--
			r.step(protocol.Wrote{ID: wr.ID, Err: err})
		})
	}
	for _, rd := range e.Read {
		r.d.read(rd, func(got protocol.DidRead) { r.step(got) })
	}
	for _, op := range e.Lease {
		r.leaseOp(op)
	}
	for _, a := range do {
		if w.trace.watching() {
			w.trace.line(p, "%s S%v -> %T %v", r.d.cfg.Name, r.shard, a, a)
		}
		r.act(a)
	}
	for _, in := range up {
		p.post(func() { r.d.stepRegion(in) })
	}
	p.arm(&r.timer, r.m.Deadline(), func() { r.step(protocol.Tick{}) })
}

func (r *shardRun) act(a protocol.ShardAction) {
	switch a := a.(type) {
	case protocol.StartEntities:
		for _, id := range a.IDs {
			r.startEntity(id)
		}
	case protocol.StopEntity:
		r.stopEntity(r.box(a.ID))
	case protocol.ForceStop:
		r.forceStop(r.box(a.ID))
	case protocol.DrainMailboxes:
		r.drain = &a.HandOff
		r.maybeDrained()
	case protocol.StopEntities:
		for _, b := range r.boxes {
			if b.active {
				r.stopEntity(b)
			}
		}
	case protocol.ForceStopEntities:
		for _, b := range r.boxes {
			r.forceStop(b)
		}
	case protocol.ForwardStart: // the number of shards never changes here
	default:
		r.d.p.w.violate("sharding", "unknown action %T", a)
	}
}

func (r *shardRun) box(id protocol.EntityID) *box {
	b := r.byID[id]
	if b == nil {
		b = &box{id: id}
		r.byID[id] = b
		r.boxes = append(r.boxes, b)
	}
	return b
}

// deliver puts a message into its entity's mailbox.
func (d *typeDriver) deliver(m *tell) {
	r := d.shards[m.shard]
	if r == nil {
		d.p.w.violate("sharding", "%v %s: route %v leads to shard %v, which is not here",
			d.p, d.cfg.Name, d.routes[m.shard], m.shard)
		return
	}
	b := r.box(m.entity)
	b.msgs = append(b.msgs, m)
	switch {
	case b.active && !b.stopping:
		r.pump(b)
	case b.stopping && d.defects.unwoken:
	case !b.active && len(b.msgs) == 1, b.stopping && len(b.msgs) == b.rest+1:
		d.p.post(func() { r.step(protocol.Wake{ID: b.id}) })
	}
}

func (r *shardRun) startEntity(id protocol.EntityID) {
	b := r.box(id)
	if b.active {
		r.d.p.w.violate("no entity twice", "%v starts T%d/%s, which it runs already", r.d.p, r.d.index, id)
		return
	}
	b.active, b.stopping, b.rest = true, false, 0
	r.checkAlone(b, false)
	r.pump(b)
}

// pump starts a handler when there is a message, no handler runs, and the lease holds at this very
// moment.
func (r *shardRun) pump(b *box) {
	p := r.d.p
	if r.closed || !b.active || b.running {
		return
	}
	if b.stopping && b.rest == 0 {
		r.ended(b)
		return
	}
	if len(b.msgs) == 0 {
		r.maybeDrained()
		return
	}
	if !p.mem.holds(p.time()) && !r.d.defects.unfenced || !r.allowed() {
		r.again()
		return
	}
	r.checkAlone(b, true)
	r.checkLease(b)
	m := b.msgs[0]
	b.msgs = b.msgs[1:]
	b.rest = max(0, b.rest-1)
	b.running = true
	p.w.handled(p, m)
	r.keep(b)
	took := r.handlerTime()
	r.messages, r.busy = r.messages+1, r.busy+took
	p.w.after(took, p, func() {
		b.running = false
		r.pump(b)
		r.maybeDrained()
	})
}

// again looks once more when the lease may be back.
func (r *shardRun) again() {
	if r.retry {
		return
	}
	r.retry = true
	r.d.p.w.after(100*time.Millisecond, r.d.p, func() {
		r.retry = false
		r.pumpAll()
	})
}

func (r *shardRun) pumpAll() {
	for _, b := range r.boxes {
		r.pump(b)
	}
}

func (d *typeDriver) pumpAll() {
	for s := range protocol.ShardID(d.cfg.Shards) {
		if r := d.shards[s]; r != nil {
			r.pumpAll()
		}
	}
}

// handlerTime is mostly short, and now and then too long for a stop's patience.
func (r *shardRun) handlerTime() time.Duration {
	g := r.d.p.rng
	switch {
	case !r.d.p.w.healed && g.IntN(2000) == 0:
		return time.Duration(between(g, int64(time.Second), int64(8*time.Second)))
	case g.IntN(20) == 0:
		return time.Duration(between(g, int64(time.Millisecond), int64(30*time.Millisecond)))
	}
	return time.Duration(between(g, int64(5*time.Microsecond), int64(300*time.Microsecond)))
}

func (r *shardRun) stopEntity(b *box) {
	if !b.active || b.stopping {
		return
	}
	b.stopping, b.rest = true, len(b.msgs)
	r.pump(b)
}

// forceStop ends an entity without emptying its mailbox; a handler that runs is waited for.
func (r *shardRun) forceStop(b *box) {
	if !b.active {
		return
	}
	b.stopping, b.rest = true, 0
	r.pump(b)
}

// ended reports the end of an entity a moment later.
func (r *shardRun) ended(b *box) {
	b.active, b.stopping = false, false
	r.unkeep(b)
	wake := len(b.msgs) > 0 && !r.d.defects.unwoken
	r.d.p.post(func() {
		r.step(protocol.EntityStopped{ID: b.id})
		if wake {
			r.step(protocol.Wake{ID: b.id})
		}
	})
}

func (r *shardRun) maybeDrained() {
	if r.drain == nil {
		return
	}
	for _, b := range r.boxes {
		if b.running || len(b.msgs) > 0 {
			return
		}
	}
	h := *r.drain
	r.drain = nil
	r.d.p.post(func() { r.step(protocol.MailboxesEmpty{HandOff: h}) })
}
