package projection

import (
	"context"
	"errors"
	"slices"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/projection/pace"
)

// query asks for the events of a part after an offset.
func (c *Config[E]) query(part int, after persistence.Offset) persistence.Query {
	first, end := pace.Slices(part, c.Parts, persistence.SliceCount)
	return persistence.Query{Type: c.Type, Tag: c.Tag, First: first, End: end, After: after}
}

// read puts the events after an offset into the queue until its context ends.
func (l *lane[E]) read(ctx context.Context, q *queue[E], after persistence.Offset) {
	err := errors.New("the reader has ended")
	defer func() {
		if p := recover(); p != nil {
			err = failure.OfRecovered(p)
		}
		q.end(&Failure{Doing: "read the events", Err: err})
	}()
	query := l.cfg.query(l.part.Number, after)
	query.Live = true
	for r, failed := range l.cfg.Reader.Events(ctx, query) {
		if failed != nil && r.Offset == "" {
			err = failed
			return
		}
		if err = q.put(ctx, l.cfg.decode(r, failed)); err != nil {
			return
		}
		err = errors.New("the reader has ended")
	}
}

// decode makes a copy of an event: the reader's is valid until the next one. broken is what is wrong with
// it in the store.
func (c *Config[E]) decode(r persistence.Recorded, broken error) (e entry[E]) {
	e.bytes = len(r.Event.Body)
	e.event = Recorded[E]{
		Entity: r.Entity, Seq: r.Event.Seq, Tags: slices.Clone(r.Event.Tags), At: r.Event.At, Offset: r.Offset,
		name: r.Event.Name, version: r.Event.Version,
	}
	if broken != nil {
		e.doing, e.err = "read event", broken
		return e
	}
	stored := schema.Stored{Name: r.Event.Name, Version: r.Event.Version, Body: r.Event.Body}
	e.event.Event, e.err = c.Events.Decode(stored)
	e.doing = "decode event"
	return e
}
