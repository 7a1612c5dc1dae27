package doc_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// both runs an update on each of two replicas that have the same, and then exchanges what they did.
func both[V crdt.Value[V, T], T any](here, there *crdt.Standalone[V, T], first, second func(T) error) {
	a, err := here.Update(first)
	if err != nil {
		panic(err)
	}
	b, err := there.Update(second)
	if err != nil {
		panic(err)
	}
	for _, e := range []error{apply(there, a), apply(here, b)} {
		if e != nil {
			panic(e)
		}
	}
}

func apply[V crdt.Value[V, T], T any](to *crdt.Standalone[V, T], g crdt.Group) error {
	_, err := to.Apply(g)
	return err
}

// Two replicas put one value each. One of the two is lost, on both.
func Example_lostWrite() {
	here, there := crdt.New[crdt.LWWRegister[string]](1), crdt.New[crdt.LWWRegister[string]](2)
	put := func(s string) func(*crdt.LWWRegisterTx[string]) error {
		return func(r *crdt.LWWRegisterTx[string]) error { return r.Put(s) }
	}
	both(here, there, put("red"), put("blue"))
	a, _ := here.Value()
	b, _ := there.Value()
	x, _ := a.Get()
	y, _ := b.Get()
	fmt.Println(x == y, x == "red" || x == "blue")
	// Output: true true
}

// A register that keeps concurrent values shows both. Its next write replaces all that it has seen.
func Example_conflict() {
	here, there := crdt.New[crdt.MVRegister[string]](1), crdt.New[crdt.MVRegister[string]](2)
	put := func(s string) func(*crdt.MVRegisterTx[string]) error {
		return func(r *crdt.MVRegisterTx[string]) error { return r.Put(s) }
	}
	both(here, there, put("red"), put("blue"))
	v, _ := here.Value()
	fmt.Println(slices.Sorted(v.All()))
	if err := update(here, put("purple")); err != nil {
		panic(err)
	}
	v, _ = here.Value()
	fmt.Println(slices.Sorted(v.All()))
	// Output:
	// [blue red]
	// [purple]
}

// One replica removes an element while the other adds it again: the add wins.
func Example_addWins() {
	here, there := crdt.New[crdt.ORSet[string]](1), crdt.New[crdt.ORSet[string]](2)
	add := func(s *crdt.ORSetTx[string]) error { return s.Add("alice") }
	both(here, there, add, add)
	both(here, there, add, func(s *crdt.ORSetTx[string]) error { return s.Remove("alice") })
	v, _ := there.Value()
	fmt.Println(slices.Collect(v.All()))
	// Output: [alice]
}

// A rule over a sum is not kept by a counter: each replica sees enough pens for its own customer.
func Example_oversold() {
	here, there := crdt.New[crdt.PNCounter](1), crdt.New[crdt.PNCounter](2)
	stock := func(c *crdt.PNCounterTx) error { return c.Increment(1) }
	both(here, there, stock, func(*crdt.PNCounterTx) error { return nil })
	sell := func(c *crdt.PNCounterTx) error {
		if n, err := c.Value(); err != nil || n < 1 {
			return errors.Join(err, errors.New("sold out"))
		}
		return c.Decrement(1)
	}
	both(here, there, sell, sell)
	v, _ := here.Value()
	fmt.Println("left:", v.Value())
	// Output: left: -1
}

// A removal takes away what it has seen of an entry. What another replica adds meanwhile stays.
func Example_entryHalfRemoved() {
	type cart = crdt.ORMultiMap[string, string]
	here, there := crdt.New[cart](1), crdt.New[cart](2)
	add := func(item string) func(*crdt.ORMultiMapTx[string, string]) error {
		return func(m *crdt.ORMultiMapTx[string, string]) error { return m.Add("alice", item) }
	}
	both(here, there, add("pen"), add("ink"))
	both(here, there, add("paper"), func(m *crdt.ORMultiMapTx[string, string]) error { return m.RemoveKey("alice") })
	v, _ := there.Value()
	fmt.Println("alice", slices.Sorted(v.Get("alice")))
	// Output: alice [paper]
}

// The keys of a map are counters of their own: concurrent increments of one key add up.
func Example_mapOfCounters() {
	here, there := crdt.New[crdt.PNCounterMap[string]](1), crdt.New[crdt.PNCounterMap[string]](2)
	add := func(m *crdt.PNCounterMapTx[string]) error { return m.Increment("tea", 1) }
	both(here, there, add, add)
	v, _ := there.Value()
	fmt.Println(maps.Collect(v.All()))
	// Output: map[tea:2]
}

func update[V crdt.Value[V, T], T any](s *crdt.Standalone[V, T], fn func(T) error) error {
	_, err := s.Update(fn)
	return err
}
