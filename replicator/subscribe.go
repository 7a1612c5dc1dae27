package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/subscription"
)

// subscriptions tells what changes. A key is followed in the space in which it lives; the other one
// may hold a copy while it moves.
type subscriptions struct {
	*replica.Site
	subscription.Subscriptions
	replicas [keyspace.Count]*replica.Replica
	late     map[string]struct{} // keys that were noted for a merge which is still being followed
}

// add registers, and tells what there is already.
func (b *subscriptions) add(in Subscribe) {
	if !in.All {
		b.Add(in.ID, in.Key)
		b.tell(in.ID, in.Key, false)
		return
	}
	b.AddPrefix(in.ID, in.Prefix)
	var keys []string
	for _, r := range b.replicas {
		for k := range r.Store.Snapshot().Keys(in.Prefix) {
			if r.Owns(k) {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		b.tell(in.ID, k, false)
	}
}

// Touch notes what a call of a store has changed.
func (b *subscriptions) Touch(r *replica.Replica) {
	if !b.Any() {
		return
	}
	if r.FollowsLate() {
		b.touchLate(r)
		return
	}
	some := false
	for _, k := range r.Changes.Keys {
		some = r.Owns(k) && b.Begin(k) || some
	}
	if !some {
		return
	}
	for _, it := range r.Changes.Put {
		if b.Marked(it.Key) && r.Owns(it.Key) {
			b.Came(it.Key, r.Store.Hash(it))
		}
	}
	for _, it := range r.Changes.Dropped {
		if b.Marked(it.Key) && r.Owns(it.Key) {
			b.Went(it.Key, r.Store.Hash(it))
		}
	}
	for _, k := range r.Changes.Keys {
		if r.Owns(k) {
			b.End(k)
		}
	}
}

// touchLate notes the keys of a merge, each once. Their values are those after the merge, the first
// time already.
func (b *subscriptions) touchLate(r *replica.Replica) {
	for _, k := range r.Changes.Keys {
		if _, noted := b.late[k]; noted || !r.Owns(k) || !b.Follows(k) {
			continue
		}
		if b.late == nil {
			b.late = map[string]struct{}{}
		}
		b.late[k] = struct{}{}
		b.Changed(k)
	}
}

// notify tells each subscription once what the step has changed.
func (b *subscriptions) notify() {
	b.Take(func(id uint64, key string) { b.tell(id, key, true) })
	if !slices.ContainsFunc(b.replicas[:], (*replica.Replica).IsLate) {
		b.late = nil
	}
}

// tell hands the value of a key to a subscription; of one that holds nothing only that it came to
// that.
func (b *subscriptions) tell(id uint64, key string, changed bool) {
	r := b.replicas[b.Routing.SpaceOf(key)].Store.View(key)
	if gone := r.Empty(); !gone || changed {
		b.Eff.Notify = append(b.Eff.Notify, effect.Change{Sub: id, Key: key, Reader: r, Deleted: gone})
	}
}

// moved tells the subscriptions of keys whose durable state differs from the volatile one:
// another member had this view earlier, and what was written there came before it.
func (b *subscriptions) moved(was *keyspace.Routes) {
	from, to := b.replicas[keyspace.Volatile].Store, b.replicas[keyspace.Durable].Store
	if !b.Any() {
		return
	}
	for _, s := range []*crdt.Store{from, to} {
		for key := range s.Snapshot().Keys("") {
			if b.Routing.SpaceOf(key) != was.SpaceOf(key) && b.Follows(key) && !sameItems(from, to, key) {
				b.Changed(key)
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
