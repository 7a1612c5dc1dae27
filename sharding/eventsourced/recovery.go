package eventsourced

import (
	"bytes"
	"fmt"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
)

// loadSnapshot reads the newest snapshot below a number, or any if that is 0, and goes on with the
// events after it.
func (e *entity[M, E, S]) loadSnapshot(c *sharding.Context[M], below uint64) error {
	var found persistence.Snapshot // its Seq is 0 if there is none
	read := func(done func(error)) {
		e.store.LoadSnapshot(e.hosting, persistence.SnapshotRead{Entity: e.id, Below: below},
			func(s persistence.Snapshot) error {
				found, found.Body = s, bytes.Clone(s.Body)
				return nil
			}, done)
	}
	what := e.store.Pending(calls.LoadSnapshot)
	return incarnation.Wait(c, what, read, func(c *sharding.Context[M], err error) error {
		if err != nil {
			return e.failed("load the snapshot", persistence.Event{}, err)
		}
		if found.Seq == 0 {
			return e.loadEvents(c)
		}
		if err := e.restore(found); err != nil {
			e.tell(c.Region(), "load the snapshot", found.Seq, err)
			return e.loadSnapshot(c, found.Seq)
		}
		return e.loadEvents(c)
	})
}

// restore takes a snapshot for the state.
func (e *entity[M, E, S]) restore(s persistence.Snapshot) error {
	if s.Body == nil {
		return persistence.ErrDamaged
	}
	older, body, err := openSnapshot(s.Seq, s.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", persistence.ErrDamaged, err)
	}
	state, err := e.Snapshot.Schema.Decode(storedForm(s.Name, s.Version, body))
	if err != nil {
		return err
	}
	e.state, e.seq = state, s.Seq
	e.kept.begin(append(older, s.Seq))
	return nil
}

// loadEvents reads the events after the state, and ends the start of the incarnation.
func (e *entity[M, E, S]) loadEvents(c *sharding.Context[M]) error {
	var events []persistence.Event
	var end persistence.End
	read := func(done func(error)) {
		e.store.Load(e.hosting, persistence.Read{Entity: e.id, After: e.seq}, func(ev persistence.Event) error {
			ev.Body, ev.Tags = bytes.Clone(ev.Body), nil
			events = append(events, ev)
			return nil
		}, func(x persistence.End, err error) {
			end = x
			done(err)
		})
	}
	return incarnation.Wait(c, e.store.Pending(calls.Load), read, func(c *sharding.Context[M], err error) error {
		if err != nil {
			return e.failed("load the events", persistence.Event{Seq: e.seq + 1}, err)
		}
		if err := e.replay(events, end); err != nil {
			return err
		}
		if e.Started != nil {
			return e.Started(c, e.state)
		}
		return nil
	})
}

// replay applies the events after the state, which must be all.
func (e *entity[M, E, S]) replay(events []persistence.Event, end persistence.End) error {
	missing := func(format string, args ...any) error {
		return e.failed("load the events", persistence.Event{Seq: e.seq + 1},
			fmt.Errorf("%w: "+format, append([]any{persistence.ErrDamaged}, args...)...))
	}
	if end.Deleted > e.seq {
		return missing("events up to %d are deleted, and no snapshot of that age can be read", end.Deleted)
	}
	for _, ev := range events {
		if ev.Seq != e.seq+1 {
			return missing("the next one that is there has the number %d", ev.Seq)
		}
		event, err := e.Events.Decode(storedForm(ev.Name, ev.Version, ev.Body))
		if err != nil {
			return e.failed("read event", ev, err)
		}
		if e.state, err = e.apply(e.state, event); err != nil {
			return e.failed("apply event", ev, err)
		}
		e.seq = ev.Seq
	}
	if e.seq != end.Last {
		return missing("the history ends with the number %d", end.Last)
	}
	return nil
}
