package reminded

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
)

// Type is the name of the entity type.
const Type = "reminded"

// slack is how long after its time a reminder comes at the latest, in a healed world that is not behind
// with others.
const slack = 10 * time.Second

type (
	// Process is a node, as its entities see it.
	Process = workload.Process
	// World is where they live.
	World = workload.World
)

// errRefused is what handlers return that fail.
var errRefused = errors.New("a handler that fails")

// Entities are those of a world.
type Entities struct {
	w           World
	world       *options.Options
	opt         options.Reminded // of world
	jumps       bool             // wall clocks do, while handlers run too
	role        string
	trace       *trace.Trace
	rng         *rand.Rand // the clients'
	rngHandlers *rand.Rand
	rngStops    *rand.Rand
	store       *journals.Store
	kept        *journals.KeptReminders
	judge       *Judge
	rngShards   *rand.Rand
	shards      int                                  // of the type, on every process
	regions     map[uint64]*sharding.Region[Command] // by UID; only looked up
	numbers     uint64                               // of reminders, so far
	reshards    uint64                               // changes of the number of shards
}

// New makes the entities of a world, with defects of their store, and has clients use them until it heals.
func New(o *options.Options, planted journals.Defects, w World, rs random.Streams, t *trace.Trace) *Entities {
	e := &Entities{
		w: w, world: o, opt: o.Reminded, jumps: o.Weights[options.WallJump]+o.Weights[options.WakeJump] > 0,
		role: options.Backend, trace: t, regions: map[uint64]*sharding.Region[Command]{},
		rng: rs.Stream("reminded load", 0), rngHandlers: rs.Stream("reminded handlers", 0),
		rngStops: rs.Stream("reminded stops", 0), rngShards: rs.Stream("reminded shards", 0),
		shards: o.Reminded.Shards,
	}
	if e.opt.Entities == 0 {
		return e
	}
	e.judge = NewJudge(w.Violate)
	e.kept = journals.NewReminders(planted, w.Violate)
	e.store = journals.New(o.Reminded.Store, journals.Defects{}, w, rs.Stream("store of reminders", 0), t, nil)
	e.w.After(3*time.Second, nil, e.send)
	return e
}

// Start starts the type on a process. It is called by a routine of the process.
func (e *Entities) Start(p Process) {
	if e.opt.Entities == 0 {
		return
	}
	e.maybeReshard(p)
	h := p.Host()
	_, err := h.Data(e.role)
	region, err := sharding.StartAt(h, e.define(p), err != nil)
	if err != nil {
		e.w.Violate("reminded", "%v does not start: %v", p, err)
		return
	}
	e.regions[p.UID()] = region
}

// maybeReshard changes the number of shards, if the type has run and runs nowhere now, and the store says how reminders
// lie: without that an operator may not.
func (e *Entities) maybeReshard(p Process) {
	runs := func(o Process) bool { return o.UID() != p.UID() && e.regions[o.UID()] != nil }
	if len(e.regions) == 0 || slices.ContainsFunc(e.w.Processes(), runs) || !e.kept.Recorded() ||
		!random.Chance(e.rngShards, e.opt.Reshards) {
		return
	}
	e.shards = random.Pick(e.rngShards, 1, 2, 3, 4, 6, 8)
	e.trace.Line(p, "the type has %d shards from now on", e.shards)
	e.reshards++
}

// define makes the type.
func (e *Entities) define(p Process) sharding.EntityType[Command] {
	o := &e.opt
	t := persisted.TypeOf[Command](e.world, sharding.Identity{Name: Type, Role: e.role, Shards: e.shards},
		o.Directive, o.IdleTimeout)
	t.Messages = sharding.CBOR[Command](Set{}, Cancel{}, Fire{})
	t.New = func(*Context) sharding.Entity[Command] { return entity{e, p} }
	t.Reminders = sharding.Reminders{
		Enabled: true, Store: e.store.Of(p).Reminders(e.kept), FiringMax: o.FiringMax,
		BackoffMin: t.Supervision.Backoff, BackoffMax: t.Supervision.BackoffMax,
	}
	return t
}

// entity is one of them, on a process.
type entity struct {
	e *Entities
	p Process
}

// Receive implements sharding.Entity.
func (x entity) Receive(c *Context, m Command) error {
	e, p := x.e, x.p
	switch m := m.(type) {
	case Set:
		e.set(p, c, e.name(c.ID(), m.Slot), m.Ahead, m.Every)
	case Cancel:
		n := e.name(c.ID(), m.Slot)
		stored := e.judge.Cancels(n, p.UID())
		stored(c.CancelReminder(n.Name))
	case Fire:
		return e.fire(p, c, m)
	}
	return nil
}

// Stop implements sharding.Stopper. Some stops outlast a hand-off, which is taken back then. None outlasts the
// harm to the world.
func (x entity) Stop(*Context) error {
	e := x.e
	if !random.Chance(e.rngStops, e.opt.Lingers) {
		return nil
	}
	end := x.p.Now().Add(time.Duration(e.rngStops.Int64N(int64(10 * e.world.StopTimeout))))
	for !e.w.Healed() && x.p.Now().Before(end) {
		ctx, cancel := x.p.WithTimeout(context.Background(), time.Second)
		x.p.Await(ctx.Done(), nil)
		cancel()
	}
	return nil
}

// set has an entity set a reminder.
func (e *Entities) set(p Process, c *Context, n Name, ahead, every time.Duration) {
	e.numbers++
	number, due := e.numbers, p.Now().Add(ahead)
	stored := e.judge.Sets(n, number, due, every, p.UID())
	var err error
	if every > 0 {
		err = c.RemindEvery(n.Name, due, every, Fire{number})
	} else {
		err = c.Remind(n.Name, due, Fire{number})
	}
	e.trace.Entity(p, Type, c.ID(), "%v: reminder %d, due %v, every %v: %v", n, number, due.Round(0), every, err)
	stored(err)
}

// fire handles a turn. Some handlers fail, some set the reminder anew.
func (e *Entities) fire(p Process, c *Context, m Fire) error {
	r, ok := c.Reminder()
	if !ok {
		e.w.Violate("reminders are of their entity", "%s has number %d, and no reminder", c.ID(), m.Number)
		return nil
	}
	now := p.Now()
	if e.jumps {
		now = r.Due // the clock may have gone back since it was looked at
	}
	e.trace.Entity(p, Type, c.ID(), "%s: turn %v of %d, %d missed", c.ID(), r.Due, m.Number, r.Missed)
	handled := e.judge.Fires(c.ID(), m.Number, turn{r.Due.Round(0), r.Missed}, now, p.UID())
	if !e.w.Healed() {
		switch x := e.rngHandlers.Float64(); {
		case x < e.opt.Refuses/2:
			e.judge.Failed(m.Number, p.Now().Round(0).Add(stall.BackoffMost))
			return errRefused
		case x < e.opt.Refuses:
			e.judge.Failed(m.Number, p.Now().Round(0).Add(stall.BackoffMost))
			panic("a handler that panics")
		case x > 0.9:
			n := Name{c.ID(), r.Name}
			if !e.judge.Lost(n) {
				e.set(p, c, n, time.Duration(e.rngHandlers.Int64N(int64(e.opt.Ahead))), 0)
			}
		}
	}
	handled()
	return nil
}

// slots is how many reminders an entity has at a time. Those that were lost sight of do not count.
const slots = 3

// name is the present name of a slot: a new one when it was lost sight of.
func (e *Entities) name(entity string, slot int) Name {
	for i := 0; ; i++ {
		if n := (Name{entity, fmt.Sprintf("%d.%d", slot, i)}); !e.judge.Lost(n) {
			return n
		}
	}
}

// Heal ends the harm to the store.
func (e *Entities) Heal() {
	if e.store != nil {
		e.store.Heal()
	}
}

// Counts are what was done so far.
func (e *Entities) Counts() (c Counts) {
	if e.store != nil {
		c = e.judge.Counts()
		c.Store, c.Reshards = e.store.Counts(), e.reshards
	}
	return c
}

// Missing says which reminder of the healed world has not come; empty: all have that are due by every
// clock.
func (e *Entities) Missing() string {
	all := e.w.Processes()
	if e.opt.Entities == 0 || len(all) == 0 {
		return ""
	}
	now := all[0].Now()
	for _, p := range all[1:] {
		if t := p.Now(); t.UnixNano() < now.UnixNano() {
			now = t
		}
	}
	if n := e.judge.Missing(now.Round(0).Add(-slack)); n != 0 {
		return "reminder " + strconv.FormatUint(n, 10) + " has not come"
	}
	return ""
}

// Finish looks whether all have come in the end.
func (e *Entities) Finish() {
	if m := e.Missing(); m != "" {
		e.w.Violate("each reminder comes", "%s", m)
	}
}
