package simtest

import (
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// stored tells the story of what takes effect in the stores.
type stored struct {
	tell func(format string, args ...any)
}

var _ journals.Watcher = stored{}

// Fenced implements journals.Watcher, as do the other methods.
func (s stored) Fenced(h persistence.Hosting) {
	s.tell("the store hears of a new owner of shard %v, and refuses earlier ones: %v", h.Shard, h.Token)
}

// Stored tells of an event.
func (s stored) Stored(_ persistence.Hosting, id protocol.EntityID, e persistence.Event) {
	s.tell("the store has event %d of %v, %s", e.Seq, id, e.Name)
}

// Replaced tells of a value.
func (s stored) Replaced(_ persistence.Hosting, id protocol.EntityID, v persistence.State) {
	s.tell("the store has revision %d of %v", v.Revision, id)
}

// Saved tells of a snapshot.
func (s stored) Saved(_ persistence.Hosting, x persistence.Snapshot) {
	s.tell("the store has a snapshot of %v after event %d", x.Entity, x.Seq)
}

// Deleted tells of events that are gone.
func (s stored) Deleted(_ persistence.Hosting, id protocol.EntityID, upTo uint64) {
	s.tell("the store has deleted the events of %v up to %d", id, upTo)
}
