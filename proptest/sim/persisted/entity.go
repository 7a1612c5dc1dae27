package persisted

import (
	"errors"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/eventsourced"
)

// The types of entities.
const (
	Events = "events" // with events
	States = "states" // with one value
)

// errRefused is what handlers return that fail.
var errRefused = errors.New("a handler that fails")

// Entities that the handlers of one process serve.
type handlers struct {
	all     *Entities
	typ     string
	region  *sharding.Region[Command]
	writers map[string]uint64 // of the present incarnations; only looked up
}

// started gives an incarnation its number.
func (h *handlers) started(c *Context, state State) error {
	h.all.writers++
	h.writers[c.ID()] = h.all.writers
	h.all.counts.Recovered++
	if state.Seq > 0 {
		h.all.counts.Resumed++
	}
	return nil
}

// recordsOf are those that a command asks for, after a state.
func (h *handlers) recordsOf(c *Context, state State, m Add) (all []judge.Record) {
	for i := range m.Parts {
		r := judge.Record{
			Command: m.Number, Part: i, Parts: m.Parts, Writer: h.writers[c.ID()], Before: state.Sum,
		}
		all, state = append(all, r), state.next(r)
	}
	return all
}

// reply makes the receipt of a command.
func (h *handlers) reply(c *Context, m Command) func(State) any {
	id := c.ID()
	return func(s State) any {
		r := judge.Receipt{Command: m.number(), Seq: s.Seq, Sum: s.Sum}
		_, stores := m.(Add)
		h.all.judge.Replies(judge.Entity{Type: h.typ, ID: id}, r, stores)
		return r
	}
}

// fails reports whether a handler fails, as drawn.
func (h *handlers) fails() error {
	e := h.all
	if e.w.Healed() {
		return nil
	}
	switch x := e.rngHandlers.Float64(); {
	case x < e.opt.Refuses/2:
		return errRefused
	case x < e.opt.Refuses:
		panic("a handler that panics")
	}
	return nil
}

type (
	effectOfEvents = eventsourced.Effect[Command, judge.Record, State]
	effectOfStates = durablestate.Effect[Command, State]
)

// keepEvents makes a type event-sourced.
func (h *handlers) keepEvents(t sharding.EntityType[Command], p Process) (sharding.EntityType[Command], error) {
	o := &h.all.opt
	return eventsourced.Persist(t, eventsourced.Behavior[Command, judge.Record, State]{
		Journal: h.all.store.Of(p),
		Events:  records,
		Apply:   State.next,
		Started: h.started,
		Calls:   o.Calls,
		Snapshot: eventsourced.Snapshot[State]{
			Schema: states,
			Every:  o.SnapshotEvery, OnStop: o.SnapshotOnStop, Keep: o.SnapshotKeep,
			DeleteEvents: o.DeleteEvents && (o.SnapshotEvery > 0 || o.SnapshotOnStop),
		},
		Handle: func(c *Context, state State, m Command) (fx effectOfEvents, err error) {
			if err := h.fails(); err != nil {
				return fx, err
			}
			if m, adds := m.(Add); adds {
				fx = fx.Persist(h.recordsOf(c, state, m)...)
			}
			return fx.ThenReply(h.reply(c, m)), nil
		},
	})
}

// keepStates makes a type keep its states.
func (h *handlers) keepStates(t sharding.EntityType[Command], p Process) (sharding.EntityType[Command], error) {
	return durablestate.Persist(t, durablestate.Behavior[Command, State]{
		States:  h.all.store.Of(p),
		Schema:  states,
		Started: h.started,
		Calls:   h.all.opt.Calls,
		Handle: func(c *Context, state State, m Command) (fx effectOfStates, err error) {
			if err := h.fails(); err != nil {
				return fx, err
			}
			if m, adds := m.(Add); adds {
				m.Parts = 1 // a value is stored at once
				fx = fx.Persist(state.next(h.recordsOf(c, state, m)[0]))
			}
			return fx.ThenReply(h.reply(c, m)), nil
		},
	})
}

// define makes a type.
func (e *Entities) define(typ string, p Process) (*handlers, sharding.EntityType[Command], error) {
	h := &handlers{all: e, typ: typ, writers: map[string]uint64{}}
	o := &e.opt
	t := TypeOf[Command](e.world, sharding.Identity{Name: typ, Role: e.role, Shards: o.Shards}, o.Directive,
		o.IdleTimeout)
	t.Messages = sharding.CBOR[Command](Add{}, Look{})
	if e.planted.Dormant {
		t.Supervision.Backoff, t.Supervision.BackoffMax = 10*time.Minute, 10*time.Minute
	}
	keep := h.keepEvents
	if typ == States {
		keep = h.keepStates
	}
	t, err := keep(t, p)
	return h, t, err
}

// TypeOf is what an entity type has of the options of a world, and of how long that waits for it.
func TypeOf[M any](o *options.Options, id sharding.Identity, d sharding.Directive, idle time.Duration,
) sharding.EntityType[M] {
	t := sharding.EntityType[M]{
		Identity: id,
		Supervision: sharding.Supervision{
			Decide: sharding.Always(d), Backoff: 50 * time.Millisecond, BackoffMax: stall.BackoffMost,
		},
		Timeouts:  sharding.Timeouts{Ask: stall.AskState, HandlerSlow: -1},
		Rebalance: sharding.Rebalance{Interval: o.Rebalance},
		HandOff: sharding.HandOff{
			StopTimeout: o.StopTimeout, BeginTimeout: 3 * o.StopTimeout, FinishTimeout: 5 * o.StopTimeout,
		},
		Limits: sharding.Limits{Workers: 4, WorkersMax: 1000},
	}
	t.Passivation.StopTimeout = o.StopTimeout
	if t.Passivation.Strategy.None = idle == 0; idle > 0 {
		t.Passivation.Strategy.IdleTimeout, t.Passivation.Strategy.IdleInterval = idle, idle/2
	}
	return t
}

// parts draws how many records a command asks for.
func (e *Entities) parts(typ string) uint64 {
	if typ == States || e.rng.IntN(3) > 0 {
		return 1
	}
	return uint64(random.Between(e.rng, 2, 5))
}
