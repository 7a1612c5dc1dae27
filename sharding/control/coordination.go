package control

import (
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
)

// coordination runs the Coordinator machine of one entity type on one node. Every node of the role
// has one; it acts on the member in charge only.
type coordination struct {
	stepping  func(m Machine)             // tells a simulation that a step begins
	stepped   func(m Machine, in, fx any) // shows it the step
	m         *coordinator.Coordinator
	loop      runloop.Loop[coordInput]
	scheduler scheduler.Scheduler
	strategy  allocation.Strategy // the user's, which is asked beside the loop

	mail     *machineMail
	notices  *notices
	state    *StateStore
	forwards *forwards
	standing *dataplane.Standing
	meters   *dataplane.Meters
	// tells hosted shards that they have vanished from the set of those with remembered ids
	unlisted func([]protocol.ShardID)

	lease coordinatorLease

	reminded reminded

	listed    crdt.Reader  // the set of shards with remembered ids, as it was when the machine was told of it
	locations crdt.Reader  // that the machine knows of
	wanted    *crdt.Reader // the latest; nil: none came
}

// coordInput is one input of the machine, or a function to run.
type coordInput struct {
	in   protocol.CoordinatorInput
	do   func(now time.Time)
	from runloop.Permit // of another node's message
}

func (d *coordination) post(in protocol.CoordinatorInput) { d.loop.Force(coordInput{in: in}) }

// Do has fn called in the loop.
func (d *coordination) Do(fn func(now time.Time)) { d.loop.Force(coordInput{do: fn}) }

// Moving are the shards on their way from a number on and before another: nothing if the coordinator does not act, or
// does not answer before ctx ends.
func (d *coordination) Moving(ctx context.Context, from, end protocol.ShardID) []protocol.Moving {
	var all []protocol.Moving
	asked := make(chan struct{})
	d.Do(func(time.Time) {
		defer close(asked)
		all = coordinator.Moving(d.m, from, end)
	})
	if d.scheduler.Await(asked, d.loop.Stopped(), ctx.Done()) != 0 {
		return nil
	}
	return all
}

// BalanceNow has the coordinator look at the balance, if it acts.
func (d *coordination) BalanceNow() { d.post(protocol.BalanceNow{}) }

// Step implements runloop.Machine.
func (d *coordination) Step(now time.Time, in coordInput) {
	in.from.Release()
	if in.do != nil {
		in.do(now)
		return
	}
	if _, lost := in.in.(protocol.LeaseLost); !lost {
		d.expelled(now)
	}
	d.stepping(d.m)
	fx := d.m.Step(now, in.in)
	d.stepped(d.m, in.in, fx)
	for _, w := range fx.Write {
		d.state.Write(w, func(err error) { d.post(protocol.Wrote{ID: w.ID, Err: err}) })
	}
	for _, r := range fx.Read {
		d.state.Read(r, func(v crdt.Reader, in protocol.DidRead) { d.didRead(r.Kind, v, in) })
	}
	for _, op := range fx.Lease {
		d.leaseOp(op)
	}
	for _, e := range fx.Send {
		d.mail.send(e)
	}
	for _, f := range fx.Forward {
		d.forwards.run(f.IDs, func(ids []protocol.EntityID) { d.post(protocol.StartedElsewhere{IDs: ids}) })
	}
	for _, q := range fx.Consult {
		d.scheduler.Go(func() { d.consult(q) })
	}
	for _, e := range fx.Notify {
		d.notices.notify(e)
	}
}

// didRead hands the machine what was read. Locations that changed meanwhile are newer than what was
// read of them.
func (d *coordination) didRead(k protocol.StateKind, v crdt.Reader, in protocol.DidRead) {
	if k != protocol.StateLocations || in.Err != nil {
		d.post(in)
		return
	}
	d.Do(func(now time.Time) {
		d.locations = v
		d.Step(now, coordInput{in: in})
		d.compareLocations(now)
	})
}

// locationsChanged tells the machine what an outside client has changed.
func (d *coordination) locationsChanged(v crdt.Reader) {
	d.Do(func(now time.Time) {
		d.wanted = &v
		d.compareLocations(now)
	})
}

func (d *coordination) compareLocations(now time.Time) {
	if d.wanted == nil {
		return
	}
	in := protocol.DiffLocations(d.locations, *d.wanted)
	d.locations = *d.wanted
	if len(in.Put)+len(in.Removed) > 0 {
		d.Step(now, coordInput{in: in})
	}
}

// consult asks a user's strategy, which may never answer, so no goroutine waits for it: the machine
// gives it a time limit and asks no second one.
func (d *coordination) consult(q *allocation.Consultation) {
	a := allocation.Advice{ID: q.ID}
	defer func() { d.post(protocol.Advised{Advice: a}) }() // also when the strategy ends the goroutine
	a = q.Ask(d.strategy)
}

// Flush implements runloop.Machine.
func (d *coordination) Flush() {
	d.standing.CoordinatorSteps(d.m.Acts(), slices.Clone(d.m.Awaits()), coordinator.Departed(d.m))
	d.meters.Machine("coordinator", d.m.Stats)
	d.noteReminded()
}

// Deadline implements runloop.Machine.
func (d *coordination) Deadline() time.Time { return d.m.Deadline() }

// Tick implements runloop.Machine.
func (d *coordination) Tick() coordInput { return coordInput{in: protocol.Tick{}} }

// rememberedChanged tells the machine of shards that appeared in the set of those with remembered
// ids, and the shards that are hosted here that they have vanished from it. That costs as much as
// what has changed.
func (d *coordination) rememberedChanged(v crdt.Reader) {
	d.Do(func(now time.Time) {
		added, removed := protocol.DiffShards(d.listed, v)
		d.listed = v
		if len(removed) > 0 {
			d.unlisted(removed)
		}
		if len(added) > 0 {
			d.Step(now, coordInput{in: protocol.RememberedChanged{Shards: added}})
		}
	})
}
