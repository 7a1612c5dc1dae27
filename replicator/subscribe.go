package replicator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
)

// subscriptions holds the subscriptions, and what this step has changed.
type subscriptions struct {
	byKey    map[string][]uint64 // ids, sorted
	prefixes []prefixSub         // by id
	keyOf    map[uint64]string   // of the subscriptions by key
	changed  map[string]*keyChange
	keys     []string // of changed, in order of change
}

type prefixSub struct {
	id     uint64
	prefix string
}

// onSubscribe registers, and tells what there is already.
func (m *Machine) onSubscribe(in Subscribe) {
	b := &m.subs
	b.remove(in.ID)
	if !in.All {
		if b.byKey == nil {
			b.byKey, b.keyOf = map[string][]uint64{}, map[uint64]string{}
		}
		ids := b.byKey[in.Key]
		i, _ := slices.BinarySearch(ids, in.ID)
		b.byKey[in.Key], b.keyOf[in.ID] = slices.Insert(ids, i, in.ID), in.Key
		m.tell(in.ID, in.Key, false)
		return
	}
	i, _ := slices.BinarySearchFunc(b.prefixes, in.ID, func(a prefixSub, id uint64) int { return cmp.Compare(a.id, id) })
	b.prefixes = slices.Insert(b.prefixes, i, prefixSub{in.ID, in.Prefix})
	var keys []string
	for _, s := range m.spaces {
		for k := range s.store.Snapshot().Keys(in.Prefix) {
			if m.SpaceOf(k) == s.id {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		m.tell(in.ID, k, false)
	}
}

// remove ends a subscription.
func (b *subscriptions) remove(id uint64) {
	if key, ok := b.keyOf[id]; ok {
		delete(b.keyOf, id)
		if ids := slices.DeleteFunc(b.byKey[key], func(x uint64) bool { return x == id }); len(ids) > 0 {
			b.byKey[key] = ids
		} else {
			delete(b.byKey, key)
		}
		return
	}
	b.prefixes = slices.DeleteFunc(b.prefixes, func(p prefixSub) bool { return p.id == id })
}

// keyChange is what a step has done to a key that has subscribers. What came and went within the
// step is no change.
type keyChange struct {
	sum   crdt.Digest // of the items that came, without those that went
	items int         // of the call that is looked at
	other bool        // something else than items has changed: what is hidden
}

// follows reports whether a key has subscribers.
func (b *subscriptions) follows(key string) bool {
	return len(b.byKey[key]) > 0 || slices.ContainsFunc(b.prefixes, func(p prefixSub) bool { return strings.HasPrefix(key, p.prefix) })
}

// any reports whether there is a subscription.
func (b *subscriptions) any() bool { return len(b.byKey)+len(b.prefixes) > 0 }

// mark notes that a key that is followed has changed.
func (b *subscriptions) mark(key string) *keyChange {
	if b.changed == nil {
		b.changed = map[string]*keyChange{}
	}
	if b.changed[key] == nil {
		b.changed[key] = &keyChange{}
		b.keys = append(b.keys, key)
	}
	return b.changed[key]
}

// touch notes what a call of a store has changed. A key is followed in the space in which it lives;
// the other one may hold a copy while it moves.
func (b *subscriptions) touch(s *space) {
	if !b.any() {
		return
	}
	ch, some := &s.ch, false
	for _, k := range ch.Keys {
		if b.follows(k) && s.m.SpaceOf(k) == s.id {
			b.mark(k).items, some = 0, true
		}
	}
	if !some {
		return
	}
	for _, it := range ch.Put {
		if c := b.markedIn(s, it.Key); c != nil {
			c.sum = c.sum.Plus(s.store.Hash(it))
			c.items++
		}
	}
	for _, it := range ch.Dropped {
		if c := b.markedIn(s, it.Key); c != nil {
			c.sum = c.sum.Minus(s.store.Hash(it))
			c.items++
		}
	}
	for _, k := range ch.Keys {
		if c := b.markedIn(s, k); c != nil && c.items == 0 {
			c.other = true
		}
	}
}

// markedIn returns what was noted of a key that lives in a space, nil if that is nothing.
func (b *subscriptions) markedIn(s *space, key string) *keyChange {
	if c := b.changed[key]; c != nil && s.m.SpaceOf(key) == s.id {
		return c
	}
	return nil
}

// notify tells each subscription once what the step has changed, in the order of keys, then of
// subscriptions.
func (m *Machine) notify() {
	b := &m.subs
	if len(b.keys) == 0 {
		return
	}
	slices.Sort(b.keys)
	for _, k := range b.keys {
		if c := b.changed[k]; !c.other && c.sum == (crdt.Digest{}) {
			continue
		}
		for _, id := range b.byKey[k] {
			m.tell(id, k, true)
		}
		for _, p := range b.prefixes {
			if strings.HasPrefix(k, p.prefix) {
				m.tell(p.id, k, true)
			}
		}
	}
	clear(b.changed)
	clear(b.keys)
	b.keys = b.keys[:0]
}

// tell hands the value of a key to a subscription; of one that holds nothing only that it came to
// that.
func (m *Machine) tell(id uint64, key string, changed bool) {
	r := m.spaces[m.SpaceOf(key)].store.View(key)
	if gone := r.Empty(); !gone || changed {
		m.eff.Notify = append(m.eff.Notify, Change{Sub: id, Key: key, Reader: r, Deleted: gone})
	}
}
