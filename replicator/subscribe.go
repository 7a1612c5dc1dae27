package replicator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// subscriptions holds the subscriptions, and what this step has changed.
type subscriptions struct {
	*site
	replicas [keyspace.Count]*replica
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

// add registers, and tells what there is already.
func (b *subscriptions) add(in Subscribe) {
	b.remove(in.ID)
	if !in.All {
		if b.byKey == nil {
			b.byKey, b.keyOf = map[string][]uint64{}, map[uint64]string{}
		}
		ids := b.byKey[in.Key]
		i, _ := slices.BinarySearch(ids, in.ID)
		b.byKey[in.Key], b.keyOf[in.ID] = slices.Insert(ids, i, in.ID), in.Key
		b.tell(in.ID, in.Key, false)
		return
	}
	i, _ := slices.BinarySearchFunc(b.prefixes, in.ID, func(a prefixSub, id uint64) int { return cmp.Compare(a.id, id) })
	b.prefixes = slices.Insert(b.prefixes, i, prefixSub{in.ID, in.Prefix})
	var keys []string
	for _, s := range b.replicas {
		for k := range s.store.Snapshot().Keys(in.Prefix) {
			if b.routes.SpaceOf(k) == s.id {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		b.tell(in.ID, k, false)
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
func (b *subscriptions) touch(r *replica) {
	if !b.any() {
		return
	}
	ch, some := &r.ch, false
	for _, k := range ch.Keys {
		if b.follows(k) && b.routes.SpaceOf(k) == r.id {
			b.mark(k).items, some = 0, true
		}
	}
	if !some {
		return
	}
	for _, it := range ch.Put {
		if c := b.markedIn(r.id, it.Key); c != nil {
			c.sum = c.sum.Plus(r.store.Hash(it))
			c.items++
		}
	}
	for _, it := range ch.Dropped {
		if c := b.markedIn(r.id, it.Key); c != nil {
			c.sum = c.sum.Minus(r.store.Hash(it))
			c.items++
		}
	}
	for _, k := range ch.Keys {
		if c := b.markedIn(r.id, k); c != nil && c.items == 0 {
			c.other = true
		}
	}
}

// markedIn returns what was noted of a key that lives in a space, nil if that is nothing.
func (b *subscriptions) markedIn(space keyspace.Space, key string) *keyChange {
	if c := b.changed[key]; c != nil && b.routes.SpaceOf(key) == space {
		return c
	}
	return nil
}

// notify tells each subscription once what the step has changed, in the order of keys, then of
// subscriptions.
func (b *subscriptions) notify() {
	if len(b.keys) == 0 {
		return
	}
	slices.Sort(b.keys)
	for _, k := range b.keys {
		if c := b.changed[k]; !c.other && c.sum == (crdt.Digest{}) {
			continue
		}
		for _, id := range b.byKey[k] {
			b.tell(id, k, true)
		}
		for _, p := range b.prefixes {
			if strings.HasPrefix(k, p.prefix) {
				b.tell(p.id, k, true)
			}
		}
	}
	clear(b.changed)
	clear(b.keys)
	b.keys = b.keys[:0]
}

// tell hands the value of a key to a subscription; of one that holds nothing only that it came to
// that.
func (b *subscriptions) tell(id uint64, key string, changed bool) {
	r := b.replicas[b.routes.SpaceOf(key)].store.View(key)
	if gone := r.Empty(); !gone || changed {
		b.eff.Notify = append(b.eff.Notify, Change{Sub: id, Key: key, Reader: r, Deleted: gone})
	}
}

// moved tells the subscriptions of keys whose durable state differs from the volatile one:
// another member had this view earlier, and what was written there came before it.
func (b *subscriptions) moved(was *keyspace.Routes) {
	from, to := b.replicas[keyspace.Volatile].store, b.replicas[keyspace.Durable].store
	if !b.any() {
		return
	}
	for _, s := range []*crdt.Store{from, to} {
		for key := range s.Snapshot().Keys("") {
			if b.routes.SpaceOf(key) != was.SpaceOf(key) && b.follows(key) && !sameItems(from, to, key) {
				b.mark(key).other = true
			}
		}
	}
}

// sameItems reports whether a key holds in both stores what a reader cannot tell apart.
func sameItems(a, b *crdt.Store, key string) bool {
	x, y := itemsOf(a, key), itemsOf(b, key)
	return len(x) > 0 && slices.EqualFunc(x, y, func(i, j *crdt.Item) bool {
		return i.Dot.Origin == j.Dot.Origin && i.Path == j.Path && i.Payload == j.Payload
	})
}

func itemsOf(s *crdt.Store, key string) (items []*crdt.Item) {
	for it := range s.Snapshot().ItemsFrom(key, "") {
		if it.Key != key {
			break
		}
		items = append(items, it)
	}
	return items
}
