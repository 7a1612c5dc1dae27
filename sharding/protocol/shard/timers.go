package shard

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// timers are entities in the order in which something is due for them; all wait equally long.
type timers struct{ queue []dueEntity }

type dueEntity struct {
	id  protocol.EntityID
	gen uint32
	at  time.Time
}

func (t *timers) next() time.Time {
	if len(t.queue) == 0 {
		return time.Time{}
	}
	return t.queue[0].at
}

// expired takes out what is due and yields those entities that have not changed since.
func (t *timers) expired(now time.Time, es *entities) iter.Seq[protocol.EntityID] {
	return func(yield func(protocol.EntityID) bool) {
		for len(t.queue) > 0 && !now.Before(t.queue[0].at) {
			first := t.queue[0]
			t.queue = t.queue[1:]
			if es.armed[first.id] == first.gen && !yield(first.id) {
				return
			}
		}
		if len(t.queue) == 0 {
			t.queue = nil
		}
	}
}

func sortedIDs(m map[protocol.EntityID]bool) []protocol.EntityID { return slices.Sorted(maps.Keys(m)) }
