package eventsourced

import (
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
)

// write makes the stored form of events, to come after the state.
func (e *entity[M, E, S]) write(g *sharding.Region[M], events []E) (persistence.Write, error) {
	w := persistence.Write{Entity: e.id, After: e.seq}
	now := incarnation.Now(g)
	for i, event := range events {
		ev := persistence.Event{Seq: e.seq + 1 + uint64(i), At: now}
		x, err := e.Events.Encode(event)
		if err == nil {
			ev.Name, ev.Version, ev.Body = x.Name, x.Version, x.Body
			if e.Tags != nil {
				ev.Tags, err = incarnation.Tags(e.Tags(string(e.id), event))
			}
		}
		if err != nil {
			return w, e.failed("encode event", ev, err)
		}
		w.Events = append(w.Events, ev)
	}
	return w, nil
}
