package replicator

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A key is refused where it does not belong, whatever is asked about it.
func TestKeysOfOtherDataAreRefused(t *testing.T) {
	for _, reserved := range []bool{false, true} {
		own, foreign := "users", "sharding/Cart/homes"
		if reserved {
			own, foreign = foreign, own
		}
		w := cluster(t, 2, settings.Config{Reserved: reserved})
		n := w.nodes[0]
		n.want(n.put(foreign, "e", quorum.Majority), keyspace.ErrForeignKey)
		n.want(n.get(foreign, quorum.Local), keyspace.ErrForeignKey)
		n.want(n.get(foreign, quorum.Majority), keyspace.ErrForeignKey)
		n.want(n.delete(foreign), keyspace.ErrForeignKey)
		id := n.put(own, "e", quorum.Majority)
		w.quiet()
		n.want(id, nil)
		n.wantSet(own, "e")
	}
}

// delete begins a deletion.
func (n *node) delete(key string) uint64 {
	n.w.seq++
	n.step(Delete{ID: n.w.seq, Key: key, Write: quorum.Local})
	return n.w.seq
}

// What a peer or a disk brings of other data is not taken: node.check holds the machine to that.
func TestItemsOfOtherDataAreNotTaken(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	n, peer := w.nodes[0], w.nodes[1]
	rep := crdt.NewReplica(peer.id, crdt.StoreOptions{})
	var ch crdt.Changes
	g, err := rep.Update("sharding/Cart/homes", 0, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
		return s.Add("e")
	}), &ch)
	if err != nil {
		t.Fatal(err)
	}
	before := n.m.Stats().Malformed
	n.step(&Receive{From: peer.id, Msg: &wire.Push{Epoch: 1, Groups: []crdt.Group{g}}})
	n.step(&Receive{From: peer.id, Msg: &wire.Items{Epoch: 1, Items: ch.Put}})
	if got := n.m.Stats().Malformed - before; got != 2 {
		t.Errorf("%d messages count as malformed, want 2", got)
	}
	n.check()
	_, err = New(settings.Config{Self: 7, DurableKeys: []string{"*"}}, w.rng, Loaded{
		Clock: rep.Store().Clock(), Digest: rep.Store().Digest(),
		Items: func(yield func(crdt.Item, error) bool) { yield(*ch.Put[0], nil) },
	})
	if !errors.Is(err, keyspace.ErrForeignKey) {
		t.Errorf("a table with a key of other data is taken: %v", err)
	}
}

// A move of users' keys changes no reserved one, and holds no update of one up. The reserved replicas
// take part in it all the same: the members wait for all.
func TestMovesOfUsersKeysPassReservedDataBy(t *testing.T) {
	const key = "sharding/Cart/homes"
	w := cluster(t, 3, settings.Config{Reserved: true})
	v := viewOf(2, 1, 2, 3)
	v.Moving, v.Moves, v.Move = []string{"*"}, 1, true
	w.install(v)
	n := w.nodes[0]
	id := n.put(key, "e", quorum.Majority)
	w.quiet()
	n.want(id, nil)
	for _, n := range w.nodes {
		if n.moved != 1 {
			t.Errorf("%s has not told that its part of the move is done", wire.Short(n.id))
		}
	}
	v = viewOf(3, 1, 2, 3)
	v.Durable, v.Moves = []string{"*"}, 1
	w.install(v)
	if s := n.m.SpaceOf(key); s != keyspace.Volatile {
		t.Errorf("%q is %v", key, s)
	}
	v = viewOf(4, 1, 2, 3)
	v.Durable, v.Moves = []string{"*", "sharding/*/homes"}, 2
	w.install(v)
	if s := n.m.SpaceOf(key); s != keyspace.Durable {
		t.Errorf("%q is %v, although its pattern is durable", key, s)
	}
}
