package nodelease

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// byMember keeps one V of each of some members. The zero value has none. Each heartbeat asks for some, and a
// check of the simulator for all after each step; so they stand side by side, in the order of the uids.
type byMember[V any] struct {
	uids []view.UID
	of   []V
}

// get returns what is kept of a member, the zero V if nothing is.
func (b *byMember[V]) get(u view.UID) (v V) {
	if i, ok := slices.BinarySearch(b.uids, u); ok {
		v = b.of[i]
	}
	return v
}

// set keeps something of a member, in place of what was.
func (b *byMember[V]) set(u view.UID, v V) {
	i, ok := slices.BinarySearch(b.uids, u)
	if !ok {
		b.uids, b.of = slices.Insert(b.uids, i, u), slices.Insert(b.of, i, v)
		return
	}
	b.of[i] = v
}

// keep forgets those of members that are not wanted.
func (b *byMember[V]) keep(wanted func(view.UID) bool) {
	n := 0
	for i, u := range b.uids {
		if wanted(u) {
			b.uids[n], b.of[n] = u, b.of[i]
			n++
		}
	}
	b.uids, b.of = b.uids[:n], b.of[:n]
}

// clear forgets all.
func (b *byMember[V]) clear() { b.uids, b.of = b.uids[:0], b.of[:0] }
