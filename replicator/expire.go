package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/idle"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
)

// A key expires when no write to it has come for the time that Config.Expire gives it. Every
// replica remembers when it last saw an event change a key that can expire. So a new oldest voter
// need not begin anew. Reads leave no trace and do not count. Clocks are not compared: what counts
// is the time that the oldest voter has seen pass.
//
// A write may come before the routes that it was made under: the key is volatile here, and a member
// with a newer view has written to the durable space. It counts when it comes. The copies that a
// move makes are no writes.
//
// The oldest voter does not trust its own view alone. Before it removes a key it learns what a
// majority had acknowledged, as a quorum read does. So a key stays if a majority has acknowledged a
// write to it by then, and a voter that is cut off removes nothing. The removal is that of Delete:
// concurrent writes of other nodes survive, and the key can be used again at once. A key does not
// expire by a look at the clock, because replicas would not agree on when.
//
// The rules may differ between replicas. Those of the oldest voter count. A replica that becomes
// the oldest has counted by its own rules, from the changes that it has seen since its start. So no
// key is removed sooner than the rules of the replica that removes it say.
type expiry struct {
	*replica.Site
	keys  idle.Keys
	tryAt time.Time // not before
	asked [keyspace.Count]expiring
}

// expiring is the keys of one space of which a majority is being asked before they expire.
type expiring struct {
	keys      []string
	confirmed bool      // it has answered
	asked     time.Time // when
}

func newExpiry(t *replica.Site) expiry { return expiry{Site: t, keys: idle.New(t.Cfg.Expire)} }

// Touch notes that keys of a store have changed.
func (e *expiry) Touch(r *replica.Replica) { e.seen(r, r.Changes.Keys) }

func (e *expiry) seen(r *replica.Replica, keys []string) {
	if !e.keys.Ruled() {
		return
	}
	ahead := r.ID == keyspace.Durable && written(&r.Changes)
	for _, key := range keys {
		if r.Owns(key) || ahead { // else it moves, or has moved
			e.keys.Note(key, !r.Store.Peek(key).Empty(), e.Now)
		}
	}
}

// written reports whether changes are more than the copies that a move makes.
func written(ch *crdt.Changes) bool {
	return len(ch.Dropped) > 0 ||
		slices.ContainsFunc(ch.Put, func(it *crdt.Item) bool { return !it.Dot.IsMoved() })
}

// prime begins to count for what the store holds already, and is not counted for.
func (e *expiry) prime(r *replica.Replica) {
	if !e.keys.Ruled() {
		return
	}
	var keys []string
	for key := range r.Store.Snapshot().Keys("") {
		if !e.keys.Has(key) {
			keys = append(keys, key)
		}
	}
	e.seen(r, keys)
}

// next is when the next key expires, as far as this replica is the one to see to it.
func (e *expiry) next() time.Time {
	asks := e.asked[keyspace.Volatile].keys != nil || e.asked[keyspace.Durable].keys != nil
	if e.keys.Len() == 0 || !e.Tidies() || asks {
		return time.Time{}
	}
	return timer.Latest(e.keys.Next(), e.tryAt)
}

// due returns the keys that are due, by space.
func (e *expiry) due() (due [keyspace.Count][]string) {
	for _, key := range e.keys.Due(e.Now, tidyKeys) {
		space := e.Routing.SpaceOf(key)
		due[space] = append(due[space], key)
	}
	return due
}

// ask notes that a majority is asked about keys of a space.
func (e *expiry) ask(space keyspace.Space, keys []string) {
	e.asked[space] = expiring{keys: keys, asked: e.Now}
}

// confirm notes whether a majority has answered, and returns that.
func (e *expiry) confirm(space keyspace.Space, is bool) bool {
	if a := &e.asked[space]; is {
		a.confirmed = true
	} else {
		*a = expiring{}
	}
	return is
}

// leave forgets what is asked, when this replica is no member any more.
func (e *expiry) leave() { e.asked = [keyspace.Count]expiring{} }

// forgetConfirmed lets what a majority has been asked about be asked anew.
func (e *expiry) forgetConfirmed(space keyspace.Space) {
	if e.asked[space].confirmed {
		e.asked[space] = expiring{}
	}
}

// confirmed returns the keys of which no majority knows a later change either.
func (e *expiry) confirmed(space keyspace.Space) (keys []string) {
	a := e.asked[space]
	e.forgetConfirmed(space)
	if !a.confirmed || e.Now.Sub(a.asked) > e.Cfg.OperationTimeout {
		return nil // not asked, or this process stood still: what was told then is old by now
	}
	for _, key := range a.keys {
		if e.keys.Expired(key, e.Now) && e.Routing.SpaceOf(key) == space {
			keys = append(keys, key)
		}
	}
	return keys
}
