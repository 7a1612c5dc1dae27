package subscription

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
)

// Subscriptions is what subscribers have asked for, and what this step has changed. The zero value has none.
type Subscriptions struct {
	byKey    map[string][]uint64 // ids, sorted
	prefixes []prefixed          // by id
	keyOf    map[uint64]string   // of the subscriptions by key
	changed  map[string]*change
	keys     []string // of changed, in order of change
}

type prefixed struct {
	id     uint64
	prefix string
}

// change is what a step has done to a key that has subscribers.
type change struct {
	sum   crdt.Digest // of the items that came, without those that went
	items int         // of the call that is looked at
	other bool        // something else than items has changed: what is hidden
}

// Add subscribes to a key, in place of what the id subscribed to before.
func (g *Subscriptions) Add(id uint64, key string) {
	g.Remove(id)
	if g.byKey == nil {
		g.byKey, g.keyOf = map[string][]uint64{}, map[uint64]string{}
	}
	ids := g.byKey[key]
	i, _ := slices.BinarySearch(ids, id)
	g.byKey[key], g.keyOf[id] = slices.Insert(ids, i, id), key
}

// AddPrefix subscribes to all keys with a prefix, in place of what the id subscribed to before.
func (g *Subscriptions) AddPrefix(id uint64, prefix string) {
	g.Remove(id)
	i, _ := slices.BinarySearchFunc(g.prefixes, id, func(a prefixed, id uint64) int { return cmp.Compare(a.id, id) })
	g.prefixes = slices.Insert(g.prefixes, i, prefixed{id, prefix})
}

// Remove ends a subscription; unknown ids are ignored.
func (g *Subscriptions) Remove(id uint64) {
	if key, ok := g.keyOf[id]; ok {
		delete(g.keyOf, id)
		if ids := slices.DeleteFunc(g.byKey[key], func(x uint64) bool { return x == id }); len(ids) > 0 {
			g.byKey[key] = ids
		} else {
			delete(g.byKey, key)
		}
		return
	}
	g.prefixes = slices.DeleteFunc(g.prefixes, func(p prefixed) bool { return p.id == id })
}

// Any reports whether there is a subscription.
func (g *Subscriptions) Any() bool { return len(g.byKey)+len(g.prefixes) > 0 }

// Follows reports whether a key has subscribers.
func (g *Subscriptions) Follows(key string) bool {
	has := func(p prefixed) bool { return strings.HasPrefix(key, p.prefix) }
	return len(g.byKey[key]) > 0 || slices.ContainsFunc(g.prefixes, has)
}

// Begin notes that a call has changed a key, and reports whether the key has subscribers. What came
// and went of a key that has is told by Came and Went, and End follows.
func (g *Subscriptions) Begin(key string) bool {
	if !g.Follows(key) {
		return false
	}
	g.mark(key).items = 0
	return true
}

// Marked reports whether something has been noted of a key in this step.
func (g *Subscriptions) Marked(key string) bool { return g.changed[key] != nil }

// Came notes an item that a call has put, by its hash.
func (g *Subscriptions) Came(key string, hash crdt.Digest) {
	if c := g.changed[key]; c != nil {
		c.sum = c.sum.Plus(hash)
		c.items++
	}
}

// Went notes an item that a call has dropped, by its hash.
func (g *Subscriptions) Went(key string, hash crdt.Digest) {
	if c := g.changed[key]; c != nil {
		c.sum = c.sum.Minus(hash)
		c.items++
	}
}

// End ends what Begin began: a key of which no item came or went has changed otherwise.
func (g *Subscriptions) End(key string) {
	if c := g.changed[key]; c != nil && c.items == 0 {
		c.other = true
	}
}

// Changed notes that a key has changed, whatever its items are.
func (g *Subscriptions) Changed(key string) { g.mark(key).other = true }

func (g *Subscriptions) mark(key string) *change {
	if g.changed == nil {
		g.changed = map[string]*change{}
	}
	if g.changed[key] == nil {
		g.changed[key] = &change{}
		g.keys = append(g.keys, key)
	}
	return g.changed[key]
}

// Take calls tell for each subscription with something to hear, and forgets the changes.
func (g *Subscriptions) Take(tell func(id uint64, key string)) {
	if len(g.keys) == 0 {
		return
	}
	slices.Sort(g.keys)
	for _, k := range g.keys {
		if c := g.changed[k]; !c.other && c.sum == (crdt.Digest{}) {
			continue
		}
		for _, id := range g.byKey[k] {
			tell(id, k)
		}
		for _, p := range g.prefixes {
			if strings.HasPrefix(k, p.prefix) {
				tell(p.id, k)
			}
		}
	}
	clear(g.changed)
	clear(g.keys)
	g.keys = g.keys[:0]
}
