package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/arbiter"
	"github.com/coterie-go/coterie/proptest/sim/builds"
	"github.com/coterie-go/coterie/proptest/sim/counts"
	"github.com/coterie-go/coterie/proptest/sim/delivered"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/leases"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/packets"
	"github.com/coterie-go/coterie/proptest/sim/planted"
	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/rollout"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Violation is a broken promise: which one, when, and how it showed.
type Violation struct {
	Check string
	At    time.Duration
	Text  string
}

func (v Violation) String() string { return fmt.Sprintf("%s at %v: %s", v.Check, v.At, v.Text) }

// Result is what a run leaves.
type Result struct {
	Seed      uint64
	Options   options.Options
	Hash      uint64 // of everything that happened
	Events    uint64
	Virtual   time.Duration
	Violation *Violation
	Counts    counts.Counts
}

// World is one run. Everything in it happens on one goroutine, in the order of its queue.
//
//	safety phase ──(Options.Safety over)──► healed ──(all settled, or Options.Liveness over)──► judged
type World struct {
	opt options.Options
	now int64
	// q has as owner the process to which something happens; nil: the world. Nothing happens to a
	// dead one, and what happens to a paused one waits for its resumption.
	q        queue.Queue[*Process]
	rs       random.Streams
	trace    trace.Trace
	slots    slots
	procs    map[uint64]*Process // by uid, live and dead; only ever looked up
	live     processes
	net      *network.Network
	chaos    *chaos
	arbiter  *arbiter.Store
	leases   *leases.Store
	checkers checkers
	events   uint64
	healed   bool
	failed   *Violation
	counts   counts.Counts
	nextID   *rand.Rand
	datasets []*dataset
	operator operator

	planted      planted.Defects
	frame        []byte                    // that a handler is given at this moment; nil: none
	tells        []*tell                   // by id
	kept                                   // in stores outside
	probedShards bool                      // every entity of the healed world was sent something
	addressed    map[protocol.ShardID]bool // shards that ever were sent something; only looked up
	strategies   uint64                    // made so far
	pausedShards bool                      // nothing is sent to entities
	closing      *closing                  // nil: the cluster is not being shut down
	stopping     *stopping                 // nil: not all nodes are being stopped at once
	shardChecker *shardChecker
	tidy         *tidyChecker
	stalls       stall.Judge
}

// checker is a checker. It sees what happened from outside and knows nothing of the machines' own
// rules.
type checker interface {
	name() string
	// finish is called once, when the healed world has settled or run out of time.
	finish(w *World)
	// settled reports whether what this checker waits for has come to pass; a run ends when all
	// checkers agree.
	settled(w *World) bool
}

// checkers are all checkers of a world, and those of them that are asked often.
type checkers struct {
	all     []checker
	after   []interface{ after(*World) }          // after every event
	stepped map[keyspace.Dataset][]replicaChecker // after every step of a replica, by its data
}

// replicaChecker is a checker of the replicas of some data.
type replicaChecker interface {
	of() keyspace.Dataset
	stepped(*World, *replicaHost)
}

var _, _ replicaChecker = (*equalChecker)(nil), (*originChecker)(nil)

func checkersOf(all []checker) (c checkers) {
	c.all, c.stepped = all, map[keyspace.Dataset][]replicaChecker{}
	for _, j := range all {
		if g, ok := j.(interface{ after(*World) }); ok {
			c.after = append(c.after, g)
		}
		if g, ok := j.(replicaChecker); ok {
			c.stepped[g.of()] = append(c.stepped[g.of()], g)
		}
	}
	return c
}

// Run plays the world of one seed. When watch is not nil, it is told every input, effect and packet.
func Run(seed uint64, plan options.Plan, watch trace.Watcher) Result {
	r, _ := play(newWorld(seed, plan, watch), func() bool { return false })
	return r
}

// play plays a world to its end, or until no result is wanted any more, which over tells apart.
func play(w *World, unwanted func() bool) (r Result, over bool) {
	defer func() {
		if v := recover(); v != nil { // what is left of the world is in no order to be ended
			broken := &Violation{"no panic", time.Duration(w.now), fmt.Sprint(v)}
			r, over = Result{Seed: w.rs.Seed, Options: w.opt, Events: w.events, Violation: broken}, true
		}
	}()
	over = true
	for w.start(); w.failed == nil && !w.over(); {
		if w.step(); w.events%1024 == 0 && unwanted() {
			over = false
			break
		}
	}
	if w.failed == nil && over {
		for _, j := range w.checkers.all {
			j.finish(w)
		}
	}
	for _, p := range w.live {
		tidied(w, p)
		p.alive = false
		p.rt.Kill()
	}
	w.counts.Carry(w.net.Traffic)
	w.counts.Lease(w.leases.Counts())
	w.counts.Persisted, w.counts.Ledgers = w.persisted.Counts(), w.ledgers.Counts()
	w.counts.Reminded, w.counts.BuildsRefused = w.reminded.Counts(), w.operator.builds.Refused
	w.counts.LeaseStages, w.counts.Restored = w.operator.leases.Steps, w.operator.copies.Restored
	w.counts.Late, w.counts.Producers = w.shardChecker.order.Excused, delivered.CountsOf(w.users)
	for _, s := range w.slots {
		w.counts.Store(s.disk.Counts())
	}
	return Result{
		Seed: w.rs.Seed, Options: w.opt, Hash: uint64(w.trace.Hash), Events: w.events, Virtual: time.Duration(w.now),
		Violation: w.failed, Counts: w.counts,
	}, over
}

func newWorld(seed uint64, plan options.Plan, watch trace.Watcher) *World {
	rs := random.Streams{Seed: seed}
	opt := options.Draw(rs, plan)
	w := &World{opt: opt, rs: rs, procs: map[uint64]*Process{},
		nextID: rs.Stream("ids", 0), datasets: newDatasets(opt.DataRoles()),
		addressed: map[protocol.ShardID]bool{}}
	w.trace = trace.New(watch, &w.now)
	w.operator = operator{
		w: w, builds: builds.New(w.opt.Builds, w.rs), leases: rollout.New(&w.opt),
		copies: disks.NewCopies(w.rs.Stream("copies", 0)),
	}
	w.planted, w.stalls = planted.In(&w.opt), stall.New(&w.opt)
	w.net = network.New(network.Settings{
		Slots: w.opt.Nodes + w.opt.Spare, Loss: w.opt.Loss, Duplicate: w.opt.Duplicate, Straggle: w.opt.Straggle,
		DelayMin: w.opt.DelayMin, DelayMean: w.opt.DelayMean, LaneMax: w.opt.LaneMax,
		Describe: packets.Describer(w.opt.EntityTypes, typeName),
	}, netWorld{w}, rs.Stream("network", 0), &w.trace)
	w.chaos = newChaos(w)
	w.arbiter = newArbiter(w)
	w.leases = leases.New(w.opt.LeaseTTL, leaseWorld{netWorld{w}}, rs.Stream("lease store", 0), &w.trace)
	if w.opt.HasLeases() {
		w.leases.GiveTrouble()
	}
	w.kept = newKept(w)
	w.checkers = checkersOf(newJudges(w))
	return w
}

// start boots the first nodes and schedules what is to come.
func (w *World) start() {
	for i := range w.opt.Nodes + w.opt.Spare {
		roles, addr := w.opt.RolesOf(i), fmt.Sprintf("n%d:7946", i)
		w.slots = append(w.slots, &Slot{index: i, addr: addr, roles: roles, disk: newDisk(w, i, roles)})
	}
	c := w.chaos
	w.trace.Note(w, "OPTIONS %v", w.opt)
	for _, s := range w.slots[:w.opt.Nodes] {
		w.at(random.Between(c.rng, 0, int64(time.Second)), nil, func() { w.startProcess(s) })
	}
	w.after(w.opt.Safety, nil, w.heal)
	w.startLoad()
	w.startShardLoad()
	if w.opt.Lag > 0 {
		w.after(5*time.Second, nil, lags{w, w.rs.Stream("lags", 0)}.draw)
	}
	if script := scripts[w.opt.Scenario]; script != nil {
		script(c)
		return
	}
	w.after(3*time.Second+time.Duration(random.Between(c.rng, 0, int64(4*time.Second))), nil, c.next)
}

// step lets the next event happen.
func (w *World) step() {
	if w.q.Empty() {
		w.violate("world", "nothing will ever happen again")
		return
	}
	e := w.q.Pop()
	w.now = e.At
	if p := e.Owner; p != nil {
		if !p.alive {
			return
		}
		if p.behind {
			p.backlog = append(p.backlog, e.Run)
			return
		}
	}
	w.events++
	e.Run()
	for _, j := range w.checkers.after {
		j.after(w)
	}
}

// at schedules an event. What is due earlier than now happens now.
func (w *World) at(t int64, owner *Process, run func()) { w.q.Push(max(t, w.now), owner, run) }

// after schedules an event in a while.
func (w *World) after(d time.Duration, owner *Process, run func()) { w.at(w.now+int64(d), owner, run) }

// over reports whether the run has ended.
func (w *World) over() bool {
	if !w.healed || w.events%64 != 0 {
		return false
	}
	if checkStalls(w); w.failed != nil || w.now > max(int64(w.opt.Safety+w.opt.Liveness), w.stalls.Until()) {
		return true
	}
	for _, j := range w.checkers.all {
		if !j.settled(w) {
			return false
		}
	}
	return true
}

// heal ends the safety phase: the network is whole and prompt, disks work, everybody runs.
func (w *World) heal() {
	w.healed = true
	w.stalls.Begin(w.now)
	w.trace.Note(w, "HEAL")
	w.net.Heal()
	w.leases.Heal()
	w.kept.heal()
	for _, s := range w.slots {
		s.disk.Heal()
		if s.proc != nil {
			s.proc.haltSoon(0, 0)
			s.proc.resume()
		} else if s.started > 0 {
			w.restart(s)
		}
	}
	w.operator.upgrade()
	w.after(operatorPatience, nil, w.operator.operate)
	if w.opt.Strategy == (downing.Manual{}) {
		w.after(operatorPatience/2, nil, w.operator.downDead)
	}
}

// violate ends the run with the first broken promise.
func (w *World) violate(check, format string, args ...any) {
	if w.failed != nil {
		return
	}
	w.failed = &Violation{Check: check, At: time.Duration(w.now), Text: fmt.Sprintf(format, args...)}
	w.trace.Tell(story.Violation, w, "%v", w.failed)
}

func (w *World) String() string { return "world" }

// tell offers something to every checker.
func (w *World) tell(f func(checker)) {
	for _, j := range w.checkers.all {
		f(j)
	}
}
