package sim

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/packets"
	"github.com/coterie-go/coterie/proptest/sim/sights"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// replicaHost is the simulated host of the driver of one of a process's replicators.
type replicaHost struct {
	p         *Process
	set       keyspace.Dataset
	channel   transport.Channel
	d         *drivers.Replica
	m         *replicator.Machine
	checker   *replicator.Checker
	judges    []replicaChecker
	installed *view.View // installed last
	joined    int64      // when the first was; 0: none was
	settled   view.Epoch // as the driver has told it
	timer     *clock.Timer
	table     durable.Table
	stored    *crdt.Clock // what the disk has said that it has
	nextID    uint64
	subs      map[uint64]func(effect.Change)
	sights    sights.Sights
	steps     int
	nextCheck int    // the step after which the machine is checked again
	todo      []step // those that came up while effects were carried out
	busy      bool
	probed    bool // its clients wrote to a majority and read it back after the world healed

	// What became of its part of the disk later: ruin is why that has kept only kept; there: it has
	// all.
	ruin history.Fate
	kept *crdt.Clock
}

var _ drivers.ReplicaHost = (*replicaHost)(nil)

func newReplicaHost(p *Process, set keyspace.Dataset) (*replicaHost, error) {
	d := &replicaHost{
		p: p, set: set, channel: transport.ChannelOf(set.Channel()), judges: p.w.checkers.stepped[set],
		table: p.slot.disk.Table(rows.Table(set)), subs: map[uint64]func(effect.Change){}, sights: sights.Sights{},
	}
	loaded, err := rows.Load(d.table)
	if errors.Is(err, disks.ErrRead) && p.w.planted.Blind {
		loaded, err = replicator.Loaded{}, nil
	}
	if err != nil {
		return nil, err
	}
	if d.stored = loaded.Clock; d.stored == nil {
		d.stored = &crdt.Clock{}
	}
	if d.m, err = replicator.New(d.config(), p.w.rs.Stream("replicator"+d.suffix(), p.uid), loaded); err != nil {
		return nil, err
	}
	d.d, d.checker = drivers.NewReplica(d.m, d), replicator.NewChecker(d.m)
	d.d.Trace(d.stepped)
	d.timer = clock.NewTimer(func() { d.step(replicator.Tick{}) })
	return d, nil
}

func (d *replicaHost) config() settings.Config {
	o := d.p.w.opt
	c := settings.Config{
		Reserved: d.set.Reserved, OperationTimeout: o.Timeout, Self: crdt.Origin(d.p.uid), Disk: d.p.slot.disk.ID(),
		DurableKeys: options.DurableKeys(&d.p.w.opt), LogMax: o.LogMax, BacklogMax: o.BacklogMax, SuppliersMax: 2,
		FrameMax: o.FrameMax, BatchRowsMax: o.BatchRows, StepItems: o.BatchRows, WriteBehind: o.WriteBehind,
		SketchCells: 256, SketchFrom: 32,
	}
	if !c.Reserved {
		c.Expire = o.ExpireRules(d.p.uid)
	}
	c.Plant(d.p.w.planted.Machines)
	return c
}

// step is an input for the machine of a replicaHost.
type step struct {
	in   replicator.Input
	from crdt.Origin // that has sent msg, instead of in
	msg  wire.Message
	id   uint64              // of the operation that it begins
	done func(effect.Result) // takes the result of that; nil: it begins none
}

// step lets the machine take one input, and then what came up meanwhile.
func (d *replicaHost) step(in replicator.Input) { d.run(step{in: in}) }

func (s step) take(d *replicaHost) {
	switch now := d.p.Time(); {
	case s.done != nil:
		d.d.Call(now, s.id, s.in, func(r effect.Result) { d.p.effect(func() { s.done(r) }) }, nil)
	case s.in == nil:
		d.d.Receive(now, s.from, s.msg)
	default:
		d.d.Step(now, s.in)
	}
}

func (d *replicaHost) run(s step) {
	d.todo = append(d.todo, s)
	if d.busy {
		return
	}
	d.busy = true
	for i := 0; i < len(d.todo) && d.p.alive; i++ {
		next := d.todo[i]
		d.todo[i] = step{}
		if d.p.halt.waits() {
			d.p.effect(func() { d.run(next) }) // the process stopped within the step before
			continue
		}
		next.take(d)
		if got := view.Epoch(d.m.Settled()); got != d.settled && !d.p.halt.waits() {
			d.p.w.violate("what is settled is told",
				"%v: %v is settled, its membership was told of %v", d.p, got, d.settled)
		}
		if d.p.alive {
			for _, j := range d.judges {
				j.stepped(d.p.w, d)
			}
		}
	}
	d.busy, d.todo = false, d.todo[:0]
	if d.p.alive {
		d.p.arm(d.timer, d.m.Deadline())
	}
}

// stepped looks at a step before its effects are carried out.
func (d *replicaHost) stepped(in replicator.Input, e *effect.Effects) {
	p, w := d.p, d.p.w
	if w.trace.Watching() {
		text := "R" + d.suffix() + " <- " + in.String() + "\n" + trace.Prefixed("R"+d.suffix()+" -> ", e.String())
		w.trace.Record(p, story.Record{Keys: packets.Keys(in), Text: text})
	}
	d.check()
	if e.CaughtUp {
		d.caughtUp()
	}
	if i, is := in.(replicator.Install); is {
		w.tell(func(j checker) {
			if g, ok := j.(interface {
				took(*World, *replicaHost, replica.View)
			}); ok {
				g.took(w, d, i.View)
			}
		})
	}
	for _, r := range e.Reply {
		w.trace.Fold(6, r.ID)
	}
}

// Changed implements drivers.ReplicaHost. Readers of the simulator look at the machine itself.
func (d *replicaHost) Changed() {}

// HoldsLease implements drivers.ReplicaHost.
func (d *replicaHost) HoldsLease() bool { return d.p.mem.holds(d.p.Time()) }

// Notify implements drivers.ReplicaHost.
func (d *replicaHost) Notify(c effect.Change) {
	d.p.effect(func() {
		if sub := d.subs[c.Sub]; sub != nil {
			sub(c)
		}
	})
}

// Moved implements drivers.ReplicaHost.
func (d *replicaHost) Moved(number uint16) {
	d.p.effect(func() { d.p.progress.Moved(d.set, number) })
}

// Reached implements drivers.ReplicaHost.
func (d *replicaHost) Reached(caughtUp bool, settled view.Epoch) {
	d.p.effect(func() {
		d.settled = settled
		d.p.progress.Reached(d.set, caughtUp, settled)
	})
}

// Tell implements drivers.ReplicaHost.
func (d *replicaHost) Tell(e *effect.Effects) {
	settled, agreed, outdated := slices.Clone(e.Settled), view.Epoch(e.Retirable), e.Outdated
	d.p.effect(func() { d.tell(settled, agreed, outdated) })
}

func (d *replicaHost) tell(settled []effect.Settlement, agreed view.Epoch, outdated bool) {
	w := d.p.w
	if agreed != 0 {
		d.p.progress.Agreed(d.set, agreed)
	}
	if outdated && !w.planted.Machines.Planted(defect.TrustsOutdated) {
		w.counts.Outdated++
		d.p.end("its disk is outdated")
		d.p.slot.disk.Wipe()
		d.p.slot.renewed = true
		w.succeed(d.p.slot, false)
		return
	}
	for _, s := range settled {
		w.tell(func(j checker) {
			if g, ok := j.(interface {
				settledView(*World, *replicaHost, effect.Settlement)
			}); ok {
				g.settledView(w, d, s)
			}
		})
	}
}

// view reads a key of this replica.
func (d *replicaHost) view(key string) crdt.Reader {
	return d.m.Snapshot(d.m.SpaceOf(key)).View(key)
}

// items yields all that this replica holds of a key, shown or not.
func (d *replicaHost) items(key string) iter.Seq[*crdt.Item] {
	return func(yield func(*crdt.Item) bool) {
		for it := range d.m.Snapshot(d.m.SpaceOf(key)).ItemsFrom(key, "") {
			if it.Key != key || !yield(it) {
				return
			}
		}
	}
}

// check runs the machine's own check, the more rarely the more items there are: its cost per step is bounded.
func (d *replicaHost) check() {
	every := d.p.w.opt.CheckEvery
	if d.steps++; every < 0 || d.steps < d.nextCheck {
		return
	}
	items, bytes := d.checker.Weight()
	d.nextCheck = d.steps + every*(1+(items+bytes/512)/8)
	if err := d.checker.Check(); err != nil {
		d.p.w.violate("replicator.Check", "%v: %v", d.p, err)
	}
}

func (d *replicaHost) receive(pk network.Packet) {
	if m, err := wire.Decode(pk.Payload); err != nil {
		d.p.w.violate("wire", "replicator message does not decode: %v", err)
	} else {
		d.run(step{from: crdt.Origin(pk.From), msg: m})
	}
}

// Decode implements drivers.ReplicaHost. What does not decode comes as none, and is counted.
func (d *replicaHost) Decode(w effect.Whole) {
	m, _ := wire.DecodeWhole(w.Data)
	d.p.effect(func() { d.step(replicator.Decoded{From: w.From, Flow: w.Flow, Msg: m}) })
}

func (d *replicaHost) reachable(uid uint64, is bool) {
	d.step(replicator.Reachable{Origin: crdt.Origin(uid), Is: is})
}

func (d *replicaHost) install(v *view.View) {
	if d.installed == nil {
		d.joined = d.p.w.now
	}
	d.installed = v
	d.step(replicator.Install{View: drivers.ViewOf(v, d.set.Role, true, d.p.mem.m.Clean())})
}

// call steps an operation with an id of its own; done happens once, with its result.
func (d *replicaHost) call(op func(id uint64) replicator.Input, done func(effect.Result)) {
	d.nextID++
	d.run(step{in: op(d.nextID), id: d.nextID, done: done})
}

// subscribe asks for a key or a prefix.
func (d *replicaHost) subscribe(s replicator.Subscribe, changed func(effect.Change)) {
	d.nextID++
	s.ID = d.nextID
	d.subs[s.ID] = changed
	d.step(s)
}

// Commit implements drivers.ReplicaHost.
func (d *replicaHost) Commit(b storage.Batch) { d.p.effect(func() { d.commit(&b) }) }

func (d *replicaHost) commit(b *storage.Batch) {
	if b.Counts != storage.AllRows {
		d.p.w.counts.Parts++
	}
	d.p.slot.disk.Commit(d.p, d.table, rows.Of(*b), func(err error) {
		if err == nil {
			d.stored = b.Clock
		}
		d.step(replicator.Persisted{ID: b.ID, Err: err})
	})
}

// frameRoom is how many times FrameMax the transport of a node takes at least.
const frameRoom = 2

// Send implements drivers.ReplicaHost. A message that no transport takes would never arrive.
func (d *replicaHost) Send(e effect.Envelope, payload []byte) {
	p, w := d.p, d.p.w
	if most := frameRoom * cmp.Or(w.opt.FrameMax, options.DefaultFrame); len(payload) > most {
		w.violate("replicator", "a message of %d bytes to %v, a transport takes %d: %.200v",
			len(payload), e.To, most, e.Msg)
	}
	to, lane := uint64(e.To), packets.LaneOf(e.Lane, w.opt.PromptLossy)
	if p.acts() {
		w.net.Send(p, to, lane, network.ToReplica, d.channel, payload)
	} else {
		own := bytes.Clone(payload)
		p.halt.keep(func() { w.net.Send(p, to, lane, network.ToReplica, d.channel, own) })
	}
}
