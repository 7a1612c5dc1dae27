package replicator

import (
	"errors"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
)

var addOne = crdt.ORSet[string]{}

// put begins adding an element to a set and returns the operation's id.
func (n *node) put(key, elem string, l quorum.Level) uint64 {
	n.w.seq++
	id := n.w.seq
	n.step(Update{ID: id, Key: key, Write: l, Mutate: func(t *crdt.Tx) error { return addOne.Mutator(t).Add(elem) }})
	return id
}

// putThenGet begins adding an element to a set by a majority, whose acks tell what else is there.
func (n *node) putThenGet(key, elem string) uint64 {
	n.w.seq++
	id := n.w.seq
	n.looks[id] = true
	n.step(Update{
		ID: id, Key: key, Write: quorum.Majority, ThenGet: true,
		Mutate: func(t *crdt.Tx) error { return addOne.Mutator(t).Add(elem) },
	})
	return id
}

// take begins removing an element from a set.
func (n *node) take(key, elem string, l quorum.Level) uint64 {
	n.w.seq++
	id := n.w.seq
	n.step(Update{ID: id, Key: key, Write: l, Mutate: func(t *crdt.Tx) error { return addOne.Mutator(t).Remove(elem) }})
	return id
}

// get begins a read.
func (n *node) get(key string, l quorum.Level) uint64 {
	n.w.seq++
	id := n.w.seq
	n.step(Get{ID: id, Key: key, Read: l})
	return id
}

// elems returns the set that a reader holds.
func elems(t tb, r crdt.Reader) []string {
	t.Helper()
	v, err := addOne.View(r)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Collect(v.All())
	slices.Sort(out)
	return out
}

func (n *node) set(key string) []string {
	n.w.t.Helper()
	return elems(n.w.t, n.m.Snapshot(n.m.SpaceOf(key)).View(key))
}

// want fails unless the operation has been answered like this; nil: without an error.
func (n *node) want(id uint64, err error) effect.Result {
	n.w.t.Helper()
	r, ok := n.results[id]
	if !ok {
		n.w.t.Fatalf("operation #%d of %s is not answered, want %v\n%v", id, wire.Short(n.id), err, n.m)
	}
	if !errors.Is(r.Err, err) {
		n.w.t.Fatalf("operation #%d of %s: %v, want %v", id, wire.Short(n.id), r.Err, err)
	}
	return r
}

func (n *node) wantOpen(id uint64) {
	n.w.t.Helper()
	if r, ok := n.results[id]; ok {
		n.w.t.Fatalf("operation #%d of %s is answered: %v", id, wire.Short(n.id), r)
	}
}

func (n *node) wantSet(key string, want ...string) {
	n.w.t.Helper()
	slices.Sort(want)
	if got := n.set(key); !slices.Equal(got, want) {
		n.w.t.Fatalf("%s holds %v in %q, want %v", wire.Short(n.id), got, key, want)
	}
}
