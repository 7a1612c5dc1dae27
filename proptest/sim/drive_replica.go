package sim

import (
	"cmp"
	"iter"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
)

// replicaDriver carries out what the Replicator machine of a process wants.
type replicaDriver struct {
	p         *Process
	m         *replicator.Machine
	installed *membership.View // installed last
	timer     timer
	table     durable.Table
	nextID    uint64
	waiting   map[uint64]func(replicator.Result)
	subs      map[uint64]func(replicator.Change)
	steps     int
	// nextCheck is the step after which the machine is checked again.
	nextCheck int
	caughtUp  bool
	settled   uint64
	todo      []replicator.Input // inputs that came up while effects were carried out
	busy      bool
}

func newReplicaDriver(p *Process) *replicaDriver {
	d := &replicaDriver{p: p, table: p.slot.disk.table(rows.Table(role)), waiting: map[uint64]func(replicator.Result){},
		subs: map[uint64]func(replicator.Change){}}
	loaded, err := rows.Load(d.table)
	if err == nil {
		d.m, err = replicator.New(d.config(), p.w.rs.stream("replicator", p.uid), loaded)
	}
	if err != nil {
		p.w.violate("store", "%v does not start: %v", p, err)
		d.m, _ = replicator.New(d.config(), p.rng, replicator.Loaded{})
	}
	return d
}

func (d *replicaDriver) config() replicator.Config {
	o := d.p.w.opt
	return replicator.Config{
		Expire: o.expireRules(d.p.uid), OperationTimeout: o.Timeout,
		Self: crdt.Origin(d.p.uid), Disk: uint64(d.p.slot.index + 1), DurableKeys: []string{"d/*", "sharding/*/ids/*"}, LogMax: o.LogMax,
		FrameMax: o.FrameMax, BatchRowsMax: o.BatchRows, WriteBehind: o.WriteBehind, SketchCells: 256, SketchFrom: 32, SuppliersMax: 2, Defects: o.replicaDefects(),
	}
}

func (d *replicaDriver) start() { d.step(replicator.Tick{}) }

// step lets the machine take one input, and then what came up meanwhile.
func (d *replicaDriver) step(in replicator.Input) {
	d.todo = append(d.todo, in)
	if d.busy {
		return
	}
	d.busy = true
	for len(d.todo) > 0 && d.p.alive {
		next := d.todo[0]
		d.todo = d.todo[1:]
		d.apply(next)
	}
	d.busy = false
	if d.p.alive {
		d.p.arm(&d.timer, d.m.Deadline(), func() { d.step(replicator.Tick{}) })
	}
}

func (d *replicaDriver) apply(in replicator.Input) {
	p, w := d.p, d.p.w
	if w.trace.watching() {
		w.trace.line(p, "R <- %v", in)
	}
	e := d.m.Step(p.time(), in)
	if w.trace.watching() {
		w.trace.lines(p, "R -> ", e.String())
	}
	d.check()
	for _, b := range e.Persist {
		d.persist(b)
	}
	for _, env := range e.Send {
		d.send(env)
	}
	for _, r := range e.Reply {
		w.trace.fold(6, r.ID)
		if done := d.waiting[r.ID]; done != nil {
			delete(d.waiting, r.ID)
			done(r)
		}
	}
	for _, c := range e.Notify {
		if sub := d.subs[c.Sub]; sub != nil {
			sub(c)
		}
	}
	if moved := e.Moved; moved != 0 {
		p.post(func() { p.mem.step(membership.Moved{Number: moved}) })
	}
	for _, s := range e.Settled {
		w.tell(func(j checker) {
			if g, ok := j.(interface {
				settledView(*World, *Process, replicator.Settlement)
			}); ok {
				g.settledView(w, p, s)
			}
		})
	}
	w.tell(func(j checker) {
		if g, ok := j.(interface{ stepped(*World, *Process) }); ok {
			g.stepped(w, p)
		}
	})
	d.report()
}

// view reads a key of the process's own replica.
func (d *replicaDriver) view(key string) crdt.Reader {
	return d.m.Snapshot(d.m.SpaceOf(key)).View(key)
}

// items yields all that the process's own replica holds of a key, shown or not.
func (d *replicaDriver) items(key string) iter.Seq[*crdt.Item] {
	return func(yield func(*crdt.Item) bool) {
		for it := range d.m.Snapshot(d.m.SpaceOf(key)).ItemsFrom(key, "") {
			if it.Key != key || !yield(it) {
				return
			}
		}
	}
}

// report tells the Membership what it waits for.
func (d *replicaDriver) report() {
	p := d.p
	if now := d.m.CaughtUp(); now != d.caughtUp {
		d.caughtUp = now
		p.post(func() { p.mem.step(membership.CaughtUp{Yes: now}) })
	}
	if now := d.m.Settled(); now != d.settled {
		d.settled = now
		p.post(func() { p.mem.step(membership.Settled{Epoch: membership.Epoch(now)}) })
	}
}

// check runs the machine's own check. It looks at every item, so it runs the more rarely the more
// there are: its cost per step is bounded.
func (d *replicaDriver) check() {
	every := d.p.w.opt.CheckEvery
	if d.steps++; every < 0 || d.steps < d.nextCheck {
		return
	}
	items := d.m.Snapshot(replicator.Volatile).Len() + d.m.Snapshot(replicator.Durable).Len()
	d.nextCheck = d.steps + every*(1+items/8)
	if err := d.m.Check(); err != nil {
		d.p.w.violate("replicator.Check", "%v: %v", d.p, err)
	}
}

func (d *replicaDriver) receive(pk packet) {
	m, err := replicator.DecodeMessage(pk.payload)
	if err != nil {
		d.p.w.violate("wire", "replicator message does not decode: %v", err)
		return
	}
	d.step(replicator.Receive{From: crdt.Origin(pk.from), Msg: m})
}

func (d *replicaDriver) reachable(uid uint64, is bool) {
	d.step(replicator.Reachable{Origin: crdt.Origin(uid), Is: is})
}

// install translates the membership's view for the role.
func (d *replicaDriver) install(v *membership.View) {
	d.installed = v
	out := replicator.View{Epoch: uint64(v.Epoch), Founded: v.Founded, Durable: v.Durable, Moving: v.Moving, Moves: v.Moves}
	for _, m := range v.Members {
		peer := replicator.Peer{ID: crdt.Origin(m.UID), UpNumber: m.UpNumber, Disk: uint64(m.Disk)}
		switch {
		case !m.HasRole(role):
		case m.Full():
			out.Voters = append(out.Voters, peer)
		default:
			out.Learners = append(out.Learners, peer)
		}
	}
	for _, set := range v.LastDisks(role) {
		disks := make([]uint64, len(set))
		for i, d := range set {
			disks[i] = uint64(d)
		}
		out.LastDisks = append(out.LastDisks, disks)
	}
	d.step(replicator.Install{View: out})
}

// call steps an operation with an id of its own; done happens once, with its result.
func (d *replicaDriver) call(op func(id uint64) replicator.Input, done func(replicator.Result)) {
	d.nextID++
	d.waiting[d.nextID] = done
	d.step(op(d.nextID))
}

// subscribe asks for a key or a prefix.
func (d *replicaDriver) subscribe(s replicator.Subscribe, changed func(replicator.Change)) {
	d.nextID++
	s.ID = d.nextID
	d.subs[s.ID] = changed
	d.step(s)
}

func (d *replicaDriver) persist(b replicator.Batch) {
	if b.Counts != replicator.AllRows {
		d.p.w.counts.Parts++
	}
	d.p.slot.disk.commit(d.p, d.table, rows.Of(b), func(err error) {
		d.step(replicator.Persisted{ID: b.ID, Err: err})
	})
}

// frameRoom is how many times FrameMax the transport of a node takes at least.
const frameRoom = 2

// send puts a message on its way. One that no transport takes would never arrive.
func (d *replicaDriver) send(env replicator.Envelope) {
	p, w := d.p, d.p.w
	b := replicator.AppendMessage(nil, env.Msg)
	if most := frameRoom * cmp.Or(w.opt.FrameMax, defaultFrame); len(b) > most {
		w.violate("replicator", "a message of %d bytes to %v, a transport takes %d: %.200v", len(b), env.To, most, env.Msg)
	}
	w.net.send(p, uint64(env.To), w.opt.laneOf(env.Lane), 0, toReplica, b)
}
