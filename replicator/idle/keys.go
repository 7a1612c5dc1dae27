package idle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Keys is the keys that can expire.
//
// Invariant: each of keys stands in the list of its rule, by the time of its last change.
type Keys struct {
	exact map[string]*rule
	globs []*rule // the most special first
	rules []*rule // all
	keys  map[string]*entry
}

// rule gives keys a time, and has the keys that it rules over by the time of their last change.
type rule struct {
	pattern     string
	names       keyspace.Patterns // the pattern
	after       time.Duration
	first, last *entry
}

type entry struct {
	key        string
	since      time.Time
	rule       *rule
	prev, next *entry
}

// New makes Keys that holds none yet, of rules: a name or a pattern, and how long its keys may be
// idle.
func New(after map[string]time.Duration) Keys {
	k := Keys{exact: map[string]*rule{}, keys: map[string]*entry{}}
	for pattern, d := range after { // order: sorted below
		k.rules = append(k.rules, &rule{pattern: pattern, names: keyspace.NewPatterns([]string{pattern}), after: d})
	}
	slices.SortFunc(k.rules, func(a, b *rule) int {
		return cmp.Or(cmp.Compare(len(b.pattern), len(a.pattern)), cmp.Compare(a.pattern, b.pattern))
	})
	for _, r := range k.rules {
		if keyspace.IsPattern(r.pattern) {
			k.globs = append(k.globs, r)
		} else {
			k.exact[r.pattern] = r
		}
	}
	return k
}

// Ruled reports whether there is any rule. Without one, no key ever expires.
func (k *Keys) Ruled() bool { return len(k.rules) > 0 }

// Has reports whether a key is held.
func (k *Keys) Has(key string) bool { return k.keys[key] != nil }

// Len returns how many keys are held.
func (k *Keys) Len() int { return len(k.keys) }

// ruleOf returns the rule for a key: the one that names it, else the longest pattern that matches;
// nil when it never expires.
func (k *Keys) ruleOf(key string) *rule {
	if r := k.exact[key]; r != nil {
		return r
	}
	for _, r := range k.globs {
		if r.names.Match(key) {
			return r
		}
	}
	return nil
}

// Note takes the news that a key changed, and whether it holds anything now.
func (k *Keys) Note(key string, holds bool, now time.Time) {
	e := k.keys[key]
	switch {
	case e != nil && !holds:
		e.rule.remove(e)
		delete(k.keys, key)
	case e != nil:
		e.rule.remove(e)
		e.since = now
		e.rule.add(e)
	case holds:
		if r := k.ruleOf(key); r != nil {
			e = &entry{key: key, since: now, rule: r}
			k.keys[key] = e
			r.add(e)
		}
	}
}

func (r *rule) add(e *entry) {
	if e.prev = r.last; e.prev == nil {
		r.first = e
	} else {
		e.prev.next = e
	}
	r.last = e
}

func (r *rule) remove(e *entry) {
	if e.prev == nil {
		r.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		r.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// Next returns when the next key expires; zero: none is held.
func (k *Keys) Next() (at time.Time) {
	for _, r := range k.rules {
		if r.first == nil {
			continue
		}
		if due := r.first.since.Add(r.after); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at
}

// Expired reports whether a key has been idle for too long.
func (k *Keys) Expired(key string, now time.Time) bool {
	e := k.keys[key]
	return e != nil && !now.Before(e.since.Add(e.rule.after))
}

// Due returns the keys that have been idle for too long, at most so many.
func (k *Keys) Due(now time.Time, most int) (keys []string) {
	for _, r := range k.rules {
		for e := r.first; e != nil && len(keys) < most && k.Expired(e.key, now); e = e.next {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// Check returns a broken invariant.
func (k *Keys) Check() error {
	n := 0
	for _, r := range k.rules {
		for e := r.first; e != nil; e = e.next {
			if n++; k.keys[e.key] != e || e.rule != r {
				return fmt.Errorf("%q stands wrong among the keys of %q", e.key, r.pattern)
			}
		}
	}
	if n != len(k.keys) {
		return fmt.Errorf("%d keys, %d in the lists of the rules", len(k.keys), n)
	}
	return nil
}
