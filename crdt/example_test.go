package crdt_test

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// A set on two nodes: the group that an update returns is all that travels, and an add wins over a
// concurrent remove.
func Example() {
	here, there := crdt.New[crdt.ORSet[string]](1), crdt.New[crdt.ORSet[string]](2)

	add, err := here.Update(func(s *crdt.ORSetTx[string]) error { return s.Add("alice") })
	if err != nil {
		panic(err)
	}
	if _, err := there.Apply(add); err != nil {
		panic(err)
	}

	// Now one node removes her while the other adds her once more.
	gone, _ := there.Update(func(s *crdt.ORSetTx[string]) error { return s.Remove("alice") })
	again, _ := here.Update(func(s *crdt.ORSetTx[string]) error { return s.Add("alice") })
	fmt.Println(there.Apply(again))
	fmt.Println(here.Apply(gone))

	a, _ := here.Value()
	b, _ := there.Value()
	fmt.Println(slices.Collect(a.All()), slices.Collect(b.All()))
	// Output:
	// applied <nil>
	// applied <nil>
	// [alice] [alice]
}

// Several changes of one update travel and take effect together.
func ExampleStandalone_Update() {
	stock := crdt.New[crdt.LWWMap[string, int]](1)
	group, err := stock.UpdateAt(1_700_000_000_000_000_000, func(m *crdt.LWWMapTx[string, int]) error {
		if err := m.Put("apples", 3); err != nil {
			return err
		}
		return m.Put("pears", m.Len()) // sees the apples
	})
	if err != nil {
		panic(err)
	}
	v, _ := stock.Value()
	for fruit, n := range v.All() {
		fmt.Println(fruit, n)
	}
	fmt.Println(len(group), "events,", len(crdt.AppendGroup(nil, group)), "bytes")
	// Output:
	// apples 3
	// pears 1
	// 2 events, 54 bytes
}

// Counters on two nodes merge to their sum, however often they merge.
func ExampleGCounter() {
	a, b := crdt.New[crdt.GCounter](1), crdt.New[crdt.GCounter](2)
	for _, c := range []*crdt.Standalone[crdt.GCounter, *crdt.GCounterTx]{a, b, a} {
		if _, err := c.Update(func(tx *crdt.GCounterTx) error { return tx.Increment(20) }); err != nil {
			panic(err)
		}
	}
	for range 3 {
		if err := a.Merge(b); err != nil {
			panic(err)
		}
	}
	v, _ := a.Value()
	fmt.Println(v.Value())
	// Output: 60
}

// What a peer has and no log covers is merged in steps. Until the last one nothing of it shows, and
// the replica can be read and written.
func ExampleReplica_BeginMerge() {
	add := func(e string) func(*crdt.Tx) error {
		return crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(e) })
	}
	donor, r := crdt.NewReplica(1, crdt.StoreOptions{}), crdt.NewReplica(2, crdt.StoreOptions{})
	var changes crdt.Changes
	for _, e := range []string{"a", "b", "c"} {
		if _, err := donor.Update("letters", 0, add(e), &changes); err != nil {
			panic(err)
		}
	}
	moment := donor.Store().Snapshot()
	var items []*crdt.Item
	for it := range moment.Items() {
		items = append(items, new(*it)) // of two stores, each has its own
	}
	difference := crdt.Difference{Clock: moment.Clock(), Items: [][]*crdt.Item{items}, Live: moment.Live}
	var merging *crdt.Merging
	merging, err := r.BeginMerge(difference)
	if err != nil {
		panic(err)
	}
	for done := false; !done; {
		if done, err = merging.Work(2); err != nil {
			panic(err)
		}
		fmt.Println("items:", r.Store().Len())
	}
	if _, err := r.Update("letters", 0, add("z"), &changes); err != nil {
		panic(err)
	}
	changes.Reset()
	var merged *crdt.Merged
	for merged = merging.Take(); merged.Len() > 0; {
		merged.Next(&changes)
	}
	fmt.Println("items:", r.Store().Len(), "new:", len(changes.Put), "in:", changes.Keys)
	// Output:
	// items: 0
	// items: 0
	// items: 0
	// items: 4 new: 3 in: [letters]
}

// A replica holds many keys of different types under one clock. What a peer lacks is found by its
// clock.
func ExampleReplica() {
	r := crdt.NewReplica(1, crdt.StoreOptions{})
	put := crdt.Mutate[crdt.LWWRegister[string]](func(l *crdt.LWWRegisterTx[string]) error { return l.Put("blue") })
	count := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
	var changes crdt.Changes
	for key, fn := range map[string]func(*crdt.Tx) error{"colour": put, "visits": count} {
		if _, err := r.Update(key, 0, fn, &changes); err != nil {
			panic(err)
		}
	}
	peer := crdt.NewStore(crdt.StoreOptions{})
	groups, more, covered := r.Store().Missing(peer.Clock(), 1<<16)
	fmt.Println(len(groups), more, covered)
	for _, g := range groups {
		if _, err := peer.Apply(g, nil); err != nil {
			panic(err)
		}
	}
	fmt.Println(slices.Collect(peer.Snapshot().Keys("")), peer.Digest() == r.Store().Digest())
	// Output:
	// 2 false true
	// [colour visits] true
}
