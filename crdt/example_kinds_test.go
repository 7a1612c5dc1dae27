package crdt_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// A flag that was enabled anywhere is enabled everywhere, and stays so.
func ExampleFlag() {
	here, there := crdt.New[crdt.Flag](1), crdt.New[crdt.Flag](2)
	_, err := here.Update(func(f *crdt.FlagTx) error { return f.Enable() })
	err = errors.Join(err, there.Merge(here))
	v, _ := there.Value()
	fmt.Println(v.Enabled(), err)
	// Output: true <nil>
}

// One node enables a flag again while the other disables it: it is enabled.
func ExampleEWFlag() {
	here, there := crdt.New[crdt.EWFlag](1), crdt.New[crdt.EWFlag](2)
	_, err := here.Update(func(f *crdt.EWFlagTx) error { return f.Enable() })
	err = errors.Join(err, there.Merge(here))

	_, off := there.Update(func(f *crdt.EWFlagTx) error { return f.Disable() })
	_, on := here.Update(func(f *crdt.EWFlagTx) error { return f.Enable() })
	err = errors.Join(err, off, on, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(v.Enabled(), err)
	// Output: true <nil>
}

// A counter that goes up and down. All increments and decrements of all nodes count.
func ExamplePNCounter() {
	here, there := crdt.New[crdt.PNCounter](1), crdt.New[crdt.PNCounter](2)
	_, up := here.Update(func(c *crdt.PNCounterTx) error { return c.Increment(5) })
	_, down := there.Update(func(c *crdt.PNCounterTx) error { return c.Decrement(2) })
	err := errors.Join(up, down, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(v.Value(), err)
	// Output: 3 <nil>
}

// A set from which nothing can be removed.
func ExampleGSet() {
	here, there := crdt.New[crdt.GSet[string]](1), crdt.New[crdt.GSet[string]](2)
	_, a := here.Update(func(s *crdt.GSetTx[string]) error { return s.Add("alice") })
	_, b := there.Update(func(s *crdt.GSetTx[string]) error { return s.Add("bob") })
	err := errors.Join(a, b, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(slices.Collect(v.All()), err)
	// Output: [alice bob] <nil>
}

// Two nodes register at one time: the earlier clock wins, and each Put says whether it won.
func ExampleFWWRegister() {
	here, there := crdt.New[crdt.FWWRegister[string]](1), crdt.New[crdt.FWWRegister[string]](2)
	owner := func(name string) func(*crdt.FWWRegisterTx[string]) error {
		return func(r *crdt.FWWRegisterTx[string]) error {
			won, err := r.Put(name)
			fmt.Println(name, won)
			return err
		}
	}
	_, late := here.UpdateAt(2, owner("alice"))
	_, early := there.UpdateAt(1, owner("bob"))
	err := errors.Join(late, early, here.Merge(there))
	_, again := here.UpdateAt(3, owner("carol"))
	v, _ := here.Value()
	name, _ := v.Get()
	fmt.Println("it is", name, errors.Join(err, again))
	// Output:
	// alice true
	// bob true
	// carol false
	// it is bob <nil>
}

// Both values of two nodes that write at one time are kept, until a write that has seen both.
func ExampleMVRegister() {
	here, there := crdt.New[crdt.MVRegister[string]](1), crdt.New[crdt.MVRegister[string]](2)
	put := func(text string) func(*crdt.MVRegisterTx[string]) error {
		return func(r *crdt.MVRegisterTx[string]) error { return r.Put(text) }
	}
	_, a := here.Update(put("milk"))
	_, b := there.Update(put("bread"))
	err := errors.Join(a, b, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(slices.Sorted(v.All()))

	_, both := here.Update(put("milk and bread"))
	v, _ = here.Value()
	fmt.Println(slices.Collect(v.All()), errors.Join(err, both))
	// Output:
	// [bread milk]
	// [milk and bread] <nil>
}

// A map whose keys have several values, each added and removed by itself.
func ExampleORMultiMap() {
	here, there := crdt.New[crdt.ORMultiMap[string, string]](1), crdt.New[crdt.ORMultiMap[string, string]](2)
	_, err := here.Update(func(m *crdt.ORMultiMapTx[string, string]) error { return m.Put("red", "apple", "brick") })
	err = errors.Join(err, there.Merge(here))

	_, gone := there.Update(func(m *crdt.ORMultiMapTx[string, string]) error { return m.Remove("red", "apple") })
	_, more := here.Update(func(m *crdt.ORMultiMapTx[string, string]) error { return m.Add("red", "cherry") })
	err = errors.Join(err, gone, more, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(slices.Collect(v.Get("red")), err)
	// Output: [brick cherry] <nil>
}

// The users that are connected to each node. What a node has put is its own, so that its end takes it
// away: package ddata hides it with the first view without the node.
func ExampleNodeSet() {
	here, there := crdt.New[crdt.NodeSet[string]](1), crdt.New[crdt.NodeSet[string]](2)
	_, a := here.Update(func(s *crdt.NodeSetTx[string]) error { return s.Add("alice") })
	_, b := there.Update(func(s *crdt.NodeSetTx[string]) error {
		return errors.Join(s.Add("alice"), s.Add("bob"))
	})
	err := errors.Join(a, b, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(slices.Collect(v.All()), slices.Sorted(v.Owners("alice")), err)

	here.Replica().SetLiving(crdt.NewLiving(1), nil) // the second node has gone
	v, _ = here.Value()
	fmt.Println(slices.Collect(v.All()))
	// Output:
	// [alice bob] [0000000000000001 0000000000000002] <nil>
	// [alice]
}

// The load of each node: a map in which a node writes its own entries only.
func ExampleNodeMap() {
	here, there := crdt.New[crdt.NodeMap[string, int]](1), crdt.New[crdt.NodeMap[string, int]](2)
	_, a := here.Update(func(m *crdt.NodeMapTx[string, int]) error { return m.Put("requests", 20) })
	_, b := there.Update(func(m *crdt.NodeMapTx[string, int]) error { return m.Put("requests", 30) })
	err := errors.Join(a, b, here.Merge(there))
	v, _ := here.Value()
	fmt.Println(maps.Collect(v.Each("requests")), err)
	// Output: map[0000000000000001:20 0000000000000002:30] <nil>
}
