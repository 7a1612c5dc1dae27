package proptest

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// state is what a replica holds, as a value of the lattice. It is not changed once made.
type state struct {
	clock *crdt.Clock
	items []crdt.Item // by key, path and dot
}

// state is what the replica holds.
func (n *node) state() state { return snapState(n.rep.Store().Snapshot()) }

func snapState(s *crdt.Snapshot) state {
	a := state{clock: s.Clock().Clone()}
	for it := range s.Items() {
		a.items = append(a.items, *it)
	}
	return a
}

func (a state) equal(b state) bool { return a.clock.Equal(b.clock) && slices.Equal(a.items, b.items) }

func (a state) live(d crdt.Dot) bool {
	return slices.ContainsFunc(a.items, func(it crdt.Item) bool { return it.Dot == d })
}

func (a state) digest() (sum crdt.Digest) {
	for i := range a.items {
		sum = sum.Plus(crdt.HashItem(digestSeed, &a.items[i]))
	}
	return sum
}

// load fills an empty replica.
func (a state) load(r *crdt.Replica) error {
	var sum crdt.Digest
	for i := range a.items {
		sum = sum.Plus(r.Store().Hash(&a.items[i])) // the seed is the store's
	}
	return r.Load(a.clock, sum, rows(a.items))
}

// rows yields items as a disk does that has nothing to complain of.
func rows(items []crdt.Item) iter.Seq2[crdt.Item, error] {
	return func(yield func(crdt.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

func (a state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  clock %v", a.clock)
	for i := range a.items {
		fmt.Fprintf(&b, "\n  %v", &a.items[i])
	}
	return b.String()
}

// store makes a store of the state.
func (a state) store() *crdt.Store {
	s := crdt.NewStore(crdt.StoreOptions{DigestSeed: digestSeed})
	if err := s.Load(a.clock, a.digest(), rows(a.items)); err != nil {
		panic(err) // states come from stores
	}
	return s
}

// merger is a Store or a Replica.
type merger interface {
	Merge(donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes) error
}

// port is what of package crdt the laws go through, so that tests can break it piece by piece.
type port struct {
	defects defect.Set
	merge   func(s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes) error
	group   func(crdt.Group) (crdt.Group, error)   // there and back over the wire
	items   func([]crdt.Item) ([]crdt.Item, error) // likewise
	missing func(s *crdt.Store, peer *crdt.Clock, bytes int) ([]crdt.Group, bool, bool)
	trim    func(*crdt.Replica, *crdt.Clock)
	digest  func(*crdt.Store) crdt.Digest
	row     func(crdt.Item) crdt.Item // as it comes back from a disk
}

var realPort = port{
	merge: func(s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes) error {
		return s.Merge(donor, live, items, ch)
	},
	group: func(g crdt.Group) (crdt.Group, error) { return crdt.DecodeGroup(crdt.AppendGroup(nil, g)) },
	items: func(items []crdt.Item) ([]crdt.Item, error) {
		return crdt.DecodeItems(crdt.AppendItems(nil, pointers(items)))
	},
	missing: (*crdt.Store).Missing,
	trim:    func(r *crdt.Replica, stable *crdt.Clock) { r.Trim(stable) },
	digest:  (*crdt.Store).Digest,
	row:     func(it crdt.Item) crdt.Item { return it },
}

func pointers(items []crdt.Item) []*crdt.Item {
	ptrs := make([]*crdt.Item, len(items))
	for i := range items {
		ptrs[i] = &items[i]
	}
	return ptrs
}
