package durablestate

import (
	"bytes"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// definition is what the entities of a type have in common.
type definition[M, S any] struct {
	Behavior[M, S]
}

// clientKey is that of the client of a region.
type clientKey struct{}

// client is that of a region.
func (d *definition[M, S]) client(g *sharding.Region[M]) *batch.Client {
	return g.Attach(clientKey{}, func() any {
		return incarnation.Client(g, batch.Config{States: d.States, Settings: d.Calls})
	}).(*batch.Client)
}

// entity is one incarnation.
type entity[M, S any] struct {
	*definition[M, S]
	store    *batch.Client
	hosting  persistence.Hosting
	id       protocol.EntityID
	state    S
	revision uint64 // of state
	planted  *defect.Set
}

var _ sharding.Entity[int] = (*entity[int, int])(nil)

// begin makes an incarnation, which handles nothing before it has read its state.
func (d *definition[M, S]) begin(c *sharding.Context[M]) *entity[M, S] {
	h, err := incarnation.HostingOf(c)
	if err != nil {
		panic(err)
	}
	e := &entity[M, S]{
		definition: d, store: d.client(c.Region()), hosting: h, id: protocol.EntityID(c.ID()), state: d.Empty(c.ID()),
		planted: incarnation.Planted(c.Region()),
	}
	if err := e.load(c); err != nil {
		panic(err)
	}
	return e
}

// load reads the state.
func (e *entity[M, S]) load(c *sharding.Context[M]) error {
	var found persistence.State // its Revision is 0 if there is none
	read := func(done func(error)) {
		e.store.LoadState(e.hosting, e.id, func(x persistence.State) error {
			found, found.Body, found.Tags = x, bytes.Clone(x.Body), nil
			return nil
		}, done)
	}
	return incarnation.Wait(c, e.store.Pending(calls.LoadState), read, func(c *sharding.Context[M], err error) error {
		if err != nil {
			return e.failed("load the state", persistence.State{}, err)
		}
		if e.revision = found.Revision; found.Revision > 0 && !found.Deleted {
			x := schema.Stored{Name: found.Name, Version: found.Version, Body: found.Body}
			if e.state, err = e.Schema.Decode(x); err != nil {
				return e.failed("read the state", found, err)
			}
		}
		if e.Started != nil {
			return e.Started(c, e.state)
		}
		return nil
	})
}

// Receive implements sharding.Entity.
func (e *entity[M, S]) Receive(c *sharding.Context[M], msg M) error {
	fx, err := e.Handle(c, e.state, msg)
	switch {
	case err != nil:
		return err
	case fx.does == stays:
		return fx.finish(c, e.state)
	}
	next := fx.next
	if fx.does == deleted {
		next = e.Empty(string(e.id))
	}
	w, err := e.write(c.Region(), next, fx.does == deleted)
	if err != nil {
		return err
	}
	if e.planted.Planted(defect.ReplyBeforeCommit) {
		if err := fx.finish(c, next); err != nil {
			return err
		}
		fx.then = nil
	}
	return incarnation.Wait(c, e.store.Pending(calls.SaveState),
		func(done func(error)) { e.store.SaveState(e.hosting, w, done) },
		func(c *sharding.Context[M], err error) error {
			if err != nil && !e.planted.Planted(defect.WriteUnasked) {
				return e.failed("save the state", w.State, err)
			}
			e.state, e.revision = next, w.State.Revision
			return fx.finish(c, e.state)
		})
}

// write makes the stored form of the next state.
func (e *entity[M, S]) write(g *sharding.Region[M], next S, deleted bool) (persistence.StateWrite, error) {
	s := persistence.State{Revision: e.revision + 1, Deleted: deleted, At: incarnation.Now(g)}
	if !deleted {
		x, err := e.Schema.Encode(next)
		if err == nil {
			s.Name, s.Version, s.Body = x.Name, x.Version, x.Body
			if e.Tags != nil {
				s.Tags, err = incarnation.Tags(e.Tags(string(e.id), next))
			}
		}
		if err != nil {
			return persistence.StateWrite{}, e.failed("encode the state", s, err)
		}
	}
	return persistence.StateWrite{Entity: e.id, After: e.revision, State: s}, nil
}

// failed is the failure of what was done with a state.
func (e *entity[M, S]) failed(doing string, s persistence.State, err error) error {
	return &Failure{
		Type: e.hosting.Type, Entity: e.id, Doing: doing, Seq: s.Revision, Name: s.Name, Version: s.Version, Err: err,
	}
}
