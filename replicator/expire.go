package replicator

import (
	"cmp"
	"slices"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A key expires when no write to it has come for the time that Config.Expire gives it. Every
// replica remembers when it last saw an event change a key that can expire. So a new oldest voter
// need not begin anew. Reads leave no trace and do not count. Clocks are not compared: what counts
// is the time that the oldest voter has seen pass.
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
	*site
	exact map[string]*expireRule
	globs []*expireRule // the most special first
	rules []*expireRule // all
	keys  map[string]*idleKey
	tryAt time.Time // not before
	asked [keyspace.Count]expiring
}

// expiring is the keys of one space of which a majority is being asked before they expire.
type expiring struct {
	keys      []string
	confirmed bool      // it has answered
	asked     time.Time // when
}

// expireRule is one entry of Config.Expire, with the keys that it rules over by the time of their
// last change.
type expireRule struct {
	pattern     string
	after       time.Duration
	first, last *idleKey
}

// idleKey is a key that can expire.
type idleKey struct {
	key        string
	since      time.Time
	rule       *expireRule
	prev, next *idleKey
}

func newExpiry(t *site) expiry {
	e := expiry{site: t, exact: map[string]*expireRule{}, keys: map[string]*idleKey{}}
	for pattern, d := range t.cfg.Expire { // order: sorted below
		e.rules = append(e.rules, &expireRule{pattern: pattern, after: d})
	}
	slices.SortFunc(e.rules, func(a, b *expireRule) int {
		return cmp.Or(cmp.Compare(len(b.pattern), len(a.pattern)), cmp.Compare(a.pattern, b.pattern))
	})
	for _, r := range e.rules {
		if keyspace.IsPattern(r.pattern) {
			e.globs = append(e.globs, r)
		} else {
			e.exact[r.pattern] = r
		}
	}
	return e
}

// ruleOf returns the rule for a key: the one that names it, else the longest pattern that matches;
// nil when it never expires.
func (e *expiry) ruleOf(key string) *expireRule {
	if r := e.exact[key]; r != nil {
		return r
	}
	for _, r := range e.globs {
		if keyspace.Match(r.pattern, key) {
			return r
		}
	}
	return nil
}

// touch notes that keys of a store have changed.
func (e *expiry) touch(r *replica) { e.seen(r, r.ch.Keys) }

func (e *expiry) seen(r *replica, keys []string) {
	if len(e.rules) == 0 {
		return
	}
	for _, key := range keys {
		if e.routes.SpaceOf(key) != r.id {
			continue // it moves, or has moved
		}
		k, holds := e.keys[key], r.store.Holds(key)
		switch {
		case k != nil && !holds:
			k.rule.remove(k)
			delete(e.keys, key)
		case k != nil:
			k.rule.remove(k)
			k.since = e.now
			k.rule.add(k)
		case holds:
			if rule := e.ruleOf(key); rule != nil {
				k = &idleKey{key: key, since: e.now, rule: rule}
				e.keys[key] = k
				rule.add(k)
			}
		}
	}
}

// prime begins to count for what the store holds already, and is not counted for.
func (e *expiry) prime(r *replica) {
	if len(e.rules) == 0 {
		return
	}
	var keys []string
	for key := range r.store.Snapshot().Keys("") {
		if e.keys[key] == nil {
			keys = append(keys, key)
		}
	}
	e.seen(r, keys)
}

func (r *expireRule) add(k *idleKey) {
	if k.prev = r.last; k.prev == nil {
		r.first = k
	} else {
		k.prev.next = k
	}
	r.last = k
}

func (r *expireRule) remove(k *idleKey) {
	if k.prev == nil {
		r.first = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		r.last = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.prev, k.next = nil, nil
}

// next is when the next key expires, as far as this replica is the one to see to it.
func (e *expiry) next() (at time.Time) {
	if len(e.keys) == 0 || !e.tidies() || e.asked[keyspace.Volatile].keys != nil || e.asked[keyspace.Durable].keys != nil {
		return zeroTime
	}
	for _, r := range e.rules {
		if r.first != nil {
			at = earlier(at, r.first.since.Add(r.after))
		}
	}
	return later(at, e.tryAt)
}

// expires reports whether a key is due.
func (e *expiry) expires(key string) bool {
	k := e.keys[key]
	return k != nil && !e.now.Before(k.since.Add(k.rule.after))
}

// due returns the keys that are due, by space.
func (e *expiry) due() (due [keyspace.Count][]string) {
	n := 0
	for _, r := range e.rules {
		for k := r.first; k != nil && n < tidyKeys && e.expires(k.key); k = k.next {
			space := e.routes.SpaceOf(k.key)
			due[space] = append(due[space], k.key)
			n++
		}
	}
	return due
}

// ask notes that a majority is asked about keys of a space.
func (e *expiry) ask(space keyspace.Space, keys []string) {
	e.asked[space] = expiring{keys: keys, asked: e.now}
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
	if !a.confirmed || e.now.Sub(a.asked) > e.cfg.OperationTimeout {
		return nil // not asked, or this process stood still: what was told then is old by now
	}
	for _, key := range a.keys {
		if e.expires(key) && e.routes.SpaceOf(key) == space {
			keys = append(keys, key)
		}
	}
	return keys
}
