package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Slot is a machine with an address and a disk, on which one process runs at a time.
type Slot struct {
	index int
	addr  string
	roles []string // of the nodes that run there
	disk  *disks.Disk
	proc  *Process // nil while nothing runs
	// started counts incarnations.
	started int
	// renewed slots had a disk that was outdated, and is empty since: others have the cluster.
	renewed bool
	// retired slots stay down: the node left for good.
	retired bool
	// leaving is set when the node was asked to leave and has not left yet; a crash on the way
	// cancels it.
	leaving bool
	least   view.UID // the bound below which no uid may be, as a process was told
}

// told reports whether a process that ends like this is started anew under another uid, and heeds the bound.
func (s *Slot) told(err error) (again bool) {
	_, least, again := membership.BrokeOff(err)
	s.least = max(s.least, least)
	return again
}

// slots are all of a world, by index.
type slots []*Slot

// staying counts the slots whose nodes have been members, have not left for good, and are not about
// to.
func (ss slots) staying() (n int) {
	for _, s := range ss {
		if !s.retired && !s.leaving && s.wasMember() {
			n++
		}
	}
	return n
}

// Process is one incarnation: the real machines of a node, and what stands for its goroutines.
type Process struct {
	w     *World
	slot  *Slot
	uid   uint64
	clock clock.Clock
	rng   *rand.Rand

	alive bool
	left  bool // it ended because it had left
	// frozen is true during a pause; behind stays true until what happened meanwhile has been
	// worked off, in its order.
	frozen, behind bool
	pauseEnds      int64 // of the last pause, unless the world healed before
	resumed        int64 // when it last went on
	backlog        []func()
	halt           halt

	lastPost int64
	toldAll  bool // sent something to every entity after the world healed
	mem      *memberHost
	reps     replicaHosts // two for each of the roles of its slot
	progress *drivers.Progress
	rt       *routine.Process
	node     *node
	types    []*typeHost // that its users have started
	behave   *rand.Rand  // draws what handlers do
	late     *rand.Rand  // draws when types are started
	starts   bool        // one is being started, later than the process
	steps    int         // of the machines of sharding
}

func (p *Process) String() string { return fmt.Sprintf("n%d/%d", p.slot.index, p.slot.started) }

// Time reads the clock of the process.
func (p *Process) Time() time.Time {
	if p.w.planted.Sleepless {
		return p.clock.ReadAwake(p.w.now)
	}
	return p.clock.Read(p.w.now)
}

// startProcess boots a new incarnation on a slot. If the disk cannot be read, no process comes to
// be, and a supervisor tries again.
func (w *World) startProcess(s *Slot) {
	s.started++
	id := w.nextID.Uint64() | 1
	p := &Process{w: w, slot: s, rng: w.rs.Stream("process", id), alive: true}
	draw := clock.Draw
	if w.opt.Extreme {
		draw = clock.DrawExtreme
	}
	p.clock = draw(p.rng, w.planted.Drift(w.opt.ClockDrift), w.opt.WallSkew)
	id = uint64(view.DrawUID(p.Time(), s.least, id))
	p.uid = id
	w.operator.leases.Start(id)
	p.rt = routine.NewProcess(&timeline{p, w.rs.Stream("schedule", id)})
	p.node, p.behave, p.late = newNode(p), w.rs.Stream("handlers", id), w.rs.Stream("late types", id)
	if err := p.open(); err != nil {
		w.refused(p, err)
		return
	}
	s.proc = p
	s.disk.Started()
	w.procs[id] = p
	w.live = append(w.live, p)
	w.trace.Fold(1, id)
	w.trace.Tell(story.Started, p, "START uid=%x %v", id, &p.clock)
	p.mem.start()
	for _, r := range p.reps {
		r.step(replicator.Tick{})
	}
	p.startTypes()
	w.kept.start(p)
}

// open makes the machines from what the disk holds.
func (p *Process) open() (err error) {
	defer p.slot.disk.Starting()()
	p.progress = drivers.NewProgress(p.slot.roles, func(in membership.Input) { p.post(func() { p.mem.step(in) }) })
	if p.mem, err = newMemberHost(p); err != nil {
		return err
	}
	for _, set := range keyspace.Datasets(p.slot.roles) {
		r, err := newReplicaHost(p, set)
		if err != nil {
			return err
		}
		p.reps = append(p.reps, r)
	}
	return nil
}

// replica finds the replica of the users' data of a role; nil: the process does not have the role.
func (p *Process) replica(role string) *replicaHost { return p.reps.of(keyspace.Dataset{Role: role}) }

// replicaHosts are those of a process.
type replicaHosts []*replicaHost

// of finds the replica of some data; nil: the process does not have the role.
func (rs replicaHosts) of(set keyspace.Dataset) *replicaHost {
	for _, r := range rs {
		if r.set == set {
			return r
		}
	}
	return nil
}

// eachReplica has fn called soon for each replica of the process.
func (p *Process) eachReplica(fn func(*replicaHost)) {
	for _, r := range p.reps {
		p.post(func() { fn(r) })
	}
}

// refused is what becomes of a process that does not start.
func (w *World) refused(p *Process, err error) {
	s := p.slot
	w.trace.Fold(7, p.uid)
	w.trace.Note(p, "REFUSED %v", err)
	switch {
	case errors.Is(err, disks.ErrRead), w.operator.builds.Upgrade(s.index, p.uid, err), s.told(err):
	case s.disk.Torn(), w.operator.builds.Outgrown(s.index):
		s.disk.Wipe()
	default:
		w.violate("store", "%v does not start: %v", p, err)
		return
	}
	w.after(time.Duration(random.Between(s.disk.Faults(), int64(200*time.Millisecond), int64(stall.RestartMost))), nil,
		func() { w.restart(s) })
}

// end stops the incarnation: a crash, or its own decision. What its disk has not committed is
// forgotten.
func (p *Process) end(why string) {
	if !p.alive {
		return
	}
	w := p.w
	w.trace.Fold(2, p.uid)
	w.trace.Tell(story.Ended, p, "END %s", why)
	p.alive, p.frozen, p.behind, p.backlog, p.halt = false, false, false, nil, halt{}
	p.slot.proc, p.slot.leaving = nil, false
	tidied(w, p)
	p.slot.disk.Crash()
	w.leases.Ended(p)
	for i, q := range w.live {
		if q == p {
			w.live = append(w.live[:i:i], w.live[i+1:]...)
			break
		}
	}
	w.bury(p)
	w.net.Forget(p)
	p.rt.Kill()
	for _, j := range w.checkers.all {
		if g, ok := j.(interface{ gone(*World, *Process) }); ok {
			g.gone(w, p)
		}
	}
}

// Receive implements network.Endpoint. It hands a packet to the machine it is for.
func (p *Process) Receive(pk network.Packet) {
	switch pk.To {
	case network.ToMember:
		p.mem.receive(pk)
	case network.ToReplica:
		for _, r := range p.reps {
			if r.channel == pk.Channel || p.w.planted.Mixed {
				r.receive(pk)
			}
		}
	case network.ToShard:
		p.node.wires.Take(pk.From, pk.Channel, pk.Payload)
	}
}

// leave asks the node to go gracefully.
func (p *Process) leave() {
	p.slot.leaving = true
	p.mem.step(membership.Leave{})
	p.node.leave(func() {
		if p.node.reason == nil {
			p.mem.sayStopped()
		}
	})
}

// usable reports whether clients and operators use the process.
func (p *Process) usable() bool { return !p.behind && p.mem.view != nil && p.node.reason == nil }

// done ends the process by its own decision, as soon as what runs on it has ended. A supervisor
// starts it again, unless it has left.
func (p *Process) done(why error) {
	w, s := p.w, p.slot
	if p.node.reason != nil {
		return
	}
	left := errors.Is(why, membership.ErrLeft)
	if w.stopping != nil {
		w.stopping.ended(p, why)
	}
	p.left = left
	s.told(why)
	if w.operator.builds.Upgrade(s.index, p.uid, why) && p.mem.view != nil {
		w.violate("format level", "%v, a member, ends: %v", p, why)
	}
	if left {
		w.net.Depart(p)
	}
	p.node.end(why, func() {
		p.end(why.Error())
		w.succeed(s, left)
	})
}

// succeed is what follows a process that has ended by its own decision.
func (w *World) succeed(s *Slot, left bool) {
	if left {
		s.retired = true
		return
	}
	w.after(time.Duration(random.Between(w.chaos.rng, int64(200*time.Millisecond), int64(stall.RestartMost))), nil,
		func() { w.restart(s) })
}

// pause freezes the process for a while, as SIGSTOP does; its clock goes on. What arrives waits.
func (p *Process) pause(d time.Duration) {
	if p.frozen {
		return
	}
	p.frozen, p.behind = true, true
	p.w.counts.Pauses++
	p.w.trace.Tell(story.Paused, p, "PAUSE %v", d)
	p.pauseEnds = p.w.now + int64(d)
	p.w.after(d, nil, func() {
		if p.w.now >= p.pauseEnds { // else a later pause has begun
			p.resume()
		}
	})
}

func (p *Process) resume() {
	if !p.alive || !p.frozen {
		return
	}
	p.frozen, p.resumed = false, p.w.now
	p.w.trace.Tell(story.Resumed, p, "RESUME with %d waiting", len(p.backlog))
	p.catchUp()
}

// catchUp works off what waited, one by one in quick succession.
func (p *Process) catchUp() {
	if !p.alive || p.frozen {
		return
	}
	if len(p.halt.late)+len(p.backlog) == 0 {
		p.behind = false
		return
	}
	p.w.at(p.w.now+random.Between(p.rng, 100, 20_000), nil, p.catchUp)
	if p.carryLate() {
		return
	}
	run := p.backlog[0]
	p.backlog = p.backlog[1:]
	run()
}

// post hands work from one machine of the process to another, as a channel between goroutines does:
// soon, and in order.
func (p *Process) post(run func()) {
	p.lastPost = max(p.lastPost+1, p.w.now+random.Between(p.rng, 500, 50_000))
	p.w.at(p.lastPost, p, run)
}

// arm sets a timer to its machine's deadline, or clears it when that is zero.
func (p *Process) arm(t *clock.Timer, deadline time.Time) {
	if happens := t.Arm(deadline); happens != nil {
		p.w.at(p.clock.When(deadline)+random.Between(p.rng, 0, 300_000), p, happens)
	}
}
