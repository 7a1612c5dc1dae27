package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
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
	Options   Options
	Hash      uint64 // of everything that happened
	Events    uint64
	Virtual   time.Duration
	Violation *Violation
	Counts    Counts
}

// Counts say what a run really did, so that a quiet run is not taken for a good one.
type Counts struct {
	Views, Crashes, Restarts, Pauses, Cuts, Flaps, Leaves, Joins uint64
	Writes, Acked, Reads, Linear                                 uint64
	Sent, Delivered, Lost                                        uint64
	Tells, Told, HandOffs, Starts                                uint64
	Swept, Expired, Folded, Deleted                              uint64
	Bulk, Parts                                                  uint64
	Leased, LeasesLost                                           uint64
	Closings, Returned, TypesClosed, Stops                       uint64
	Consulted, Located, Evicted                                  uint64
	Answered, Dropped                                            uint64
	// Torn batches were committed by a crash; TableFaults and ReadFaults are commits and loads.
	Torn, TableFaults, ReadFaults uint64
	// Lies and Tears are cuts of the power of disks that have lied, or leave a part of a batch.
	Lies, Tears, Wipes uint64
	Excused            Excuses // writes that may be missing
	Longest            Waits   // of healed worlds
}

// add sums the counts of runs.
func (c *Counts) add(o Counts) {
	c.Views += o.Views
	c.Crashes += o.Crashes
	c.Restarts += o.Restarts
	c.Pauses += o.Pauses
	c.Cuts += o.Cuts
	c.Flaps += o.Flaps
	c.Leaves += o.Leaves
	c.Joins += o.Joins
	c.Writes += o.Writes
	c.Acked += o.Acked
	c.Reads += o.Reads
	c.Linear += o.Linear
	c.Excused.add(o.Excused)
	c.Sent += o.Sent
	c.Delivered += o.Delivered
	c.Lost += o.Lost
	c.Tells += o.Tells
	c.Told += o.Told
	c.HandOffs += o.HandOffs
	c.Starts += o.Starts
	c.Swept += o.Swept
	c.Expired += o.Expired
	c.Folded += o.Folded
	c.Deleted += o.Deleted
	c.Bulk += o.Bulk
	c.Parts += o.Parts
	c.Leased += o.Leased
	c.LeasesLost += o.LeasesLost
	c.Closings += o.Closings
	c.Stops += o.Stops
	c.TypesClosed += o.TypesClosed
	c.Returned += o.Returned
	c.Consulted += o.Consulted
	c.Located += o.Located
	c.Evicted += o.Evicted
	c.Answered += o.Answered
	c.Dropped += o.Dropped
	c.Torn += o.Torn
	c.TableFaults += o.TableFaults
	c.ReadFaults += o.ReadFaults
	c.Lies += o.Lies
	c.Tears += o.Tears
	c.Wipes += o.Wipes
	c.Longest.add(o.Longest)
}

// tidied counts what a process has tidied up when it ends.
func (c *Counts) tidied(p *Process) {
	for _, r := range p.reps {
		s := r.m.Stats()
		c.Swept += s.Swept
		c.Expired += s.Expired
		c.Folded += s.Folded
	}
}

// World is one run. Everything in it happens on one goroutine, in the order of its queue.
//
//	safety phase ──(Options.Safety over)──► healed ──(all settled, or Options.Liveness over)──► judged
type World struct {
	opt Options
	now int64
	// q has as owner the process to which something happens; nil: the world. Nothing happens to a
	// dead one, and what happens to a paused one waits for its resumption.
	q            queue.Queue[*Process]
	rs           random.Streams
	trace        trace.Trace
	slots        []*Slot
	procs        map[uint64]*Process // by uid, live and dead; only ever looked up
	live         []*Process          // in order of start
	net          *network
	chaos        *chaos
	arbiterStore *arbiterStore
	leases       *leaseStore
	checkers     []checker
	events       uint64
	healed       bool
	failed       *Violation
	counts       Counts
	nextID       *rand.Rand
	datasets     []*dataset
	// expect is what the operator says that a founding needs, 0 the number of nodes at the start;
	// anyDisks is the operator's word that missing disks will not come back.
	expect   int
	anyDisks bool

	planted      defects
	frame        []byte                    // that a handler is given at this moment; nil: none
	tells        []*tell                   // by id
	tellsDone    int                       // those before have ended
	probedShards bool                      // every entity of the healed world was sent something
	addressed    map[protocol.ShardID]bool // shards that ever were sent something; only looked up
	strategies   uint64                    // made so far
	pausedShards bool                      // nothing is sent to entities
	closing      *closing                  // nil: the cluster is not being shut down
	stopping     *stopping                 // nil: not all nodes are being stopped at once
	shardChecker *shardChecker
	tidy         *tidyChecker
	stalls       stalls
}

// checker is a checker. It sees what happened from outside and knows nothing of the machines' own
// rules.
type checker interface {
	name() string
	// after is called after every event.
	after(w *World)
	// finish is called once, when the healed world has settled or run out of time.
	finish(w *World)
	// settled reports whether what this checker waits for has come to pass; a run ends when all
	// checkers agree.
	settled(w *World) bool
}

// Run plays the world of one seed. When watch is not nil, every input and effect is printed to it.
func Run(seed uint64, plan Plan, watch io.Writer) Result {
	r, _ := play(newWorld(seed, plan, watch), func() bool { return false })
	return r
}

// play plays a world to its end, or until no result is wanted any more, which over tells apart.
func play(w *World, unwanted func() bool) (r Result, over bool) {
	over = true
	for w.start(); w.failed == nil && !w.over(); {
		if w.step(); w.events%1024 == 0 && unwanted() {
			over = false
			break
		}
	}
	if w.failed == nil && over {
		for _, j := range w.checkers {
			j.finish(w)
		}
	}
	for _, p := range w.live {
		w.counts.tidied(p)
		p.alive = false
		p.rt.Kill()
	}
	return Result{
		Seed: w.rs.Seed, Options: w.opt, Hash: uint64(w.trace.Hash), Events: w.events, Virtual: time.Duration(w.now),
		Violation: w.failed, Counts: w.counts,
	}, over
}

func newWorld(seed uint64, plan Plan, watch io.Writer) *World {
	rs := random.Streams{Seed: seed}
	opt := drawOptions(rs, plan)
	w := &World{opt: opt, rs: rs, procs: map[uint64]*Process{},
		nextID: rs.Stream("ids", 0), datasets: newDatasets(opt.dataRoles()),
		addressed: map[protocol.ShardID]bool{}}
	w.trace = trace.New(watch, &w.now)
	w.planted = w.opt.planted()
	w.net = newNetwork(w)
	w.chaos = newChaos(w)
	w.arbiterStore = newCourt(w)
	w.leases = newLeaseStore(w)
	w.checkers = newJudges(w)
	return w
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
	for _, j := range w.checkers {
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
	if w.stalls.look(w); w.failed != nil || w.now > int64(w.opt.Safety+w.opt.Liveness) {
		return true
	}
	for _, j := range w.checkers {
		if !j.settled(w) {
			return false
		}
	}
	return true
}

// violate ends the run with the first broken promise.
func (w *World) violate(check, format string, args ...any) {
	if w.failed != nil {
		return
	}
	w.failed = &Violation{Check: check, At: time.Duration(w.now), Text: fmt.Sprintf(format, args...)}
	w.trace.Line(w, "VIOLATION %v", w.failed)
}

func (w *World) String() string { return "world" }

// tell offers something to every checker.
func (w *World) tell(f func(checker)) {
	for _, j := range w.checkers {
		f(j)
	}
}
