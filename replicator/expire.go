package replicator

import (
	"cmp"
	"slices"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
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
	exact map[string]*expireRule
	globs []*expireRule // the most special first
	rules []*expireRule // all
	keys  map[string]*idleKey
	tryAt time.Time // not before
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

func newExpiry(after map[string]time.Duration) expiry {
	e := expiry{exact: map[string]*expireRule{}, keys: map[string]*idleKey{}}
	for pattern, d := range after { // order: sorted below
		e.rules = append(e.rules, &expireRule{pattern: pattern, after: d})
	}
	slices.SortFunc(e.rules, func(a, b *expireRule) int {
		return cmp.Or(cmp.Compare(len(b.pattern), len(a.pattern)), cmp.Compare(a.pattern, b.pattern))
	})
	for _, r := range e.rules {
		if isGlob(r.pattern) {
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
		if glob(r.pattern, key) {
			return r
		}
	}
	return nil
}

// touch notes that keys of a store have changed.
func (e *expiry) touch(s *space, keys []string) {
	if len(e.rules) == 0 {
		return
	}
	now, st := s.m.now, s.store
	for _, key := range keys {
		if s.m.SpaceOf(key) != s.id {
			continue // it moves, or has moved
		}
		k, holds := e.keys[key], st.Holds(key)
		switch {
		case k != nil && !holds:
			k.rule.remove(k)
			delete(e.keys, key)
		case k != nil:
			k.rule.remove(k)
			k.since = now
			k.rule.add(k)
		case holds:
			if r := e.ruleOf(key); r != nil {
				k = &idleKey{key: key, since: now, rule: r}
				e.keys[key] = k
				r.add(k)
			}
		}
	}
}

// prime begins to count for what the store holds already, and is not counted for.
func (e *expiry) prime(s *space) {
	if len(e.rules) == 0 {
		return
	}
	var keys []string
	for key := range s.store.Snapshot().Keys("") {
		if e.keys[key] == nil {
			keys = append(keys, key)
		}
	}
	e.touch(s, keys)
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
func (e *expiry) next(m *Machine) (at time.Time) {
	if len(e.keys) == 0 || !m.tidies() || m.spaces[Volatile].expiring != nil || m.spaces[Durable].expiring != nil {
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
func (e *expiry) expires(now time.Time, key string) bool {
	k := e.keys[key]
	return k != nil && !now.Before(k.since.Add(k.rule.after))
}

// askExpiry asks a majority what it has of the keys that are due.
func (m *Machine) askExpiry() {
	m.expiry.tryAt = m.now.Add(m.cfg.RetryInterval)
	if m.pending+int(spaces) > m.cfg.PendingMax {
		return
	}
	var due [spaces][]string
	n := 0
	for _, r := range m.expiry.rules {
		for k := r.first; k != nil && n < tidyKeys && m.expiry.expires(m.now, k.key); k = k.next {
			due[m.SpaceOf(k.key)] = append(due[m.SpaceOf(k.key)], k.key)
			n++
		}
	}
	for i, s := range m.spaces {
		if len(due[i]) == 0 {
			continue
		}
		s.expiring, s.askedExpiry = due[i], m.now
		if m.cfg.Defects.ExpireUnasked {
			s.confirmExpiry(nil)
		} else {
			s.beginRead(&op{key: due[i][0], level: quorum.Majority, s: s, read: true, then: s.confirmExpiry}, 0)
		}
	}
}

// confirmExpiry says that a majority has been heard, or not in time. The keys go with the next
// tick.
func (s *space) confirmExpiry(err error) {
	if s.confirmed = err == nil; !s.confirmed {
		s.expiring = nil
		return
	}
	s.m.tidyAt = s.m.now
}

// forgetConfirmed lets what a majority has been asked about be asked anew.
func (s *space) forgetConfirmed() {
	if s.confirmed {
		s.expiring, s.confirmed = nil, false
	}
}

// expireConfirmed removes the keys of which no majority knows a later change either.
func (s *space) expireConfirmed() {
	if !s.confirmed {
		return
	}
	keys := s.expiring
	s.forgetConfirmed()
	if s.m.now.Sub(s.askedExpiry) > s.m.cfg.OperationTimeout {
		return // this process stood still: what was told then is old by now
	}
	for _, key := range keys {
		if !s.m.expiry.expires(s.m.now, key) || s.m.movesKey(key) || s.m.SpaceOf(key) != s.id {
			continue
		}
		g, err := s.rep.Update(key, 0, removeAll, &s.ch)
		if err != nil || g == nil {
			s.ch.Reset()
			continue
		}
		s.m.stats.Expired++
		s.absorb()
		s.made(g)
	}
}
