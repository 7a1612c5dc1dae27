package eventsourced

import (
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// definition is what the entities of a type have in common.
type definition[M, E, S any] struct {
	Behavior[M, E, S]
}

// clientKey is that of the client of a region.
type clientKey struct{}

// client is that of a region.
func (d *definition[M, E, S]) client(g *sharding.Region[M]) *batch.Client {
	return g.Attach(clientKey{}, func() any {
		return incarnation.Client(g, batch.Config{
			Journal: d.Journal, Snapshots: d.Snapshot.Store, Settings: d.Calls,
		})
	}).(*batch.Client)
}

// entity is one incarnation.
type entity[M, E, S any] struct {
	*definition[M, E, S]
	store   *batch.Client
	hosting persistence.Hosting
	id      protocol.EntityID
	state   S
	seq     uint64     // of the last event in state
	kept    *snapshots // nil: there are none
	planted *defect.Set
}

var _ sharding.Stopper[int] = (*entity[int, int, int])(nil)

// begin makes an incarnation, which handles nothing before it has read its state.
func (d *definition[M, E, S]) begin(c *sharding.Context[M]) *entity[M, E, S] {
	h, err := incarnation.HostingOf(c)
	if err != nil {
		panic(err)
	}
	e := &entity[M, E, S]{
		definition: d, store: d.client(c.Region()), hosting: h, id: protocol.EntityID(c.ID()), state: d.Empty(c.ID()),
		planted: incarnation.Planted(c.Region()),
	}
	next := e.loadEvents
	if d.Snapshot.used() {
		e.kept = &snapshots{}
		next = func(c *sharding.Context[M]) error { return e.loadSnapshot(c, 0) }
	}
	if err := next(c); err != nil {
		panic(err)
	}
	return e
}

// Receive implements sharding.Entity.
func (e *entity[M, E, S]) Receive(c *sharding.Context[M], msg M) error {
	fx, err := e.Handle(c, e.state, msg)
	switch {
	case err != nil:
		return err
	case len(fx.events) == 0:
		return fx.finish(c, e.state)
	}
	w, err := e.write(c.Region(), fx.events)
	if err != nil {
		return err
	}
	next, err := e.applied(w, fx.events)
	if err != nil {
		return err
	}
	if e.planted.Planted(defect.ReplyBeforeCommit) {
		if err := fx.finish(c, next); err != nil {
			return err
		}
		fx.then = nil
	}
	if e.planted.Planted(defect.SnapshotAhead) && e.kept != nil {
		stored := *e
		e.state, e.seq = next, e.seq+uint64(len(w.Events))
		e.snapshotInTime(c)
		e.state, e.seq = stored.state, stored.seq
	}
	err = incarnation.Wait(c, e.store.Pending(calls.Append),
		func(done func(error)) { e.store.Append(e.hosting, w, done) },
		func(c *sharding.Context[M], err error) error {
			if err != nil && !e.planted.Planted(defect.WriteUnasked) {
				return e.failed("append", w.Events[0], err)
			}
			e.state, e.seq = next, e.seq+uint64(len(w.Events))
			if err := fx.finish(c, e.state); err != nil {
				return err
			}
			e.snapshotInTime(c)
			return nil
		})
	if err != nil { // Apply may have changed the state in place
		return e.failed("append", w.Events[0], err)
	}
	return nil
}

// Stop implements sharding.Stopper.
func (e *entity[M, E, S]) Stop(c *sharding.Context[M]) error { return e.snapshotAtEnd(c) }

// applied is the state after events that are about to be stored.
func (e *entity[M, E, S]) applied(w persistence.Write, events []E) (S, error) {
	next := e.state
	for i, ev := range events {
		var err error
		if next, err = e.apply(next, ev); err != nil {
			return next, e.failed("apply", w.Events[i], err)
		}
	}
	return next, nil
}

// apply calls the user's Apply.
func (e *entity[M, E, S]) apply(state S, event E) (next S, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.OfRecovered(p)
		}
	}()
	return e.Apply(state, event), nil
}

// failed is the failure of what was done with an event.
func (e *entity[M, E, S]) failed(doing string, ev persistence.Event, err error) error {
	return &Failure{
		Type: e.hosting.Type, Entity: e.id, Doing: doing, Seq: ev.Seq, Name: ev.Name, Version: ev.Version, Err: err,
	}
}

// storedForm is what a schema reads.
func storedForm(name string, version uint32, body []byte) schema.Stored {
	return schema.Stored{Name: name, Version: version, Body: body}
}
