package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
)

// runTypes measures the data types by themselves, without a replicator, and how large they are.
func runTypes(_ context.Context, o options) error {
	last := 0
	for _, full := range []int{1_000, 100_000, 1_000_000} {
		n := o.size(full)
		if n <= last {
			break
		}
		last = n
		limit := mapCosts(n, o.d/4)
		err := errors.Join(
			typeCosts[crdt.ORSet[string]]("orset", n, o.d/4, limit,
				func(s *crdt.ORSetTx[string], e string) error { return s.Add(e) },
				func(s *crdt.ORSetTx[string], e string) error { return s.Remove(e) }),
			typeCosts[crdt.LWWMap[string, string]]("lwwmap", n, o.d/4, limit,
				func(m *crdt.LWWMapTx[string, string], e string) error { return m.Put(e, "value") },
				func(m *crdt.LWWMapTx[string, string], e string) error { return m.Remove(e) }),
			typeCosts[crdt.PNCounterMap[string]]("pncountermap", n, o.d/4, limit,
				func(m *crdt.PNCounterMapTx[string], e string) error { return m.Increment(e, 1) },
				func(m *crdt.PNCounterMapTx[string], e string) error { return m.Remove(e) }),
			typeCosts[crdt.ORMultiMap[string, string]]("ormultimap", n, o.d/4, limit,
				func(m *crdt.ORMultiMapTx[string, string], e string) error { return m.Add(e, "value") },
				func(m *crdt.ORMultiMapTx[string, string], e string) error { return m.RemoveKey(e) }),
		)
		if err != nil {
			return err
		}
	}
	return errors.Join(encodedSet(o.size(10_000)), keyMemory(o.size(100_000)))
}

// element is a string of 16 bytes.
func element(i int) string { return fmt.Sprintf("element-%08d", i) }

// typeBatch is how many operations are timed at once.
const typeBatch = 1024

// mapCosts is the limit that the types are held against: a plain map of n strings.
func mapCosts(n int, d time.Duration) map[string]*measure.Cost {
	plain := make(map[string]struct{}, n)
	for _, i := range rand.Perm(n) {
		plain[element(i)] = struct{}{}
	}
	var put, remove measure.Cost
	es := make([]string, typeBatch)
	for warm := true; put.Wall < d || warm; warm = false {
		for i := range es {
			es[i] = element(rand.IntN(n)) + "x"
		}
		_ = put.Measure(len(es), func() error {
			for _, e := range es {
				plain[e] = struct{}{}
			}
			return nil
		})
		_ = remove.Measure(len(es), func() error {
			for _, e := range es {
				delete(plain, e)
			}
			return nil
		})
		if warm {
			put, remove = measure.Cost{}, measure.Cost{}
		}
	}
	return map[string]*measure.Cost{"add": &put, "remove": &remove, "merge": &put, "merge-encoded": &put, "join": &put}
}

// typeCosts measures one type at n elements: each batch of adds is undone by one of removes, so
// that the size stays. The merges are of deltas of one element that another replica made: as a
// group, as the bytes of one, and as items of a donor's state with its clock.
func typeCosts[V crdt.Value[V, T], T any](name string, n int, d time.Duration, limit map[string]*measure.Cost, add,
	remove func(T, string) error) error {
	here, there := crdt.New[V, T](1), crdt.New[V, T](2)
	es := make([]string, n)
	for i := range es {
		es[i] = element(i)
	}
	rand.Shuffle(n, func(i, j int) { es[i], es[j] = es[j], es[i] })
	for _, e := range es {
		if _, err := here.Update(func(t T) error { return add(t, e) }); err != nil {
			return err
		}
	}
	r := &typeRun[V, T]{here: here, there: there, add: add, remove: remove, costs: map[string]*measure.Cost{}}
	runtime.GC()
	for warm := true; warm || r.costs["add"].Wall < d; warm = false {
		r.es = r.es[:0]
		for range typeBatch {
			r.es = append(r.es, element(rand.IntN(n))+"x")
		}
		if err := r.batch(); err != nil {
			return err
		}
		if warm {
			clear(r.costs)
			_ = r.cost("add")
		}
	}
	for _, op := range []string{"add", "remove", "merge", "merge-encoded", "join"} {
		f := r.costs[op].Figures()
		f.Add("limit_cpu_ns_per_op", limit[op].CPUNs())
		f.Add("ratio", r.costs[op].CPUNs()/limit[op].CPUNs())
		measure.Report("types", name+"-"+op+"-"+strconv.Itoa(n), f)
	}
	return nil
}

type typeRun[V crdt.Value[V, T], T any] struct {
	here, there *crdt.Standalone[V, T]
	add, remove func(T, string) error
	es          []string
	costs       map[string]*measure.Cost
}

func (r *typeRun[V, T]) cost(op string) *measure.Cost {
	if r.costs[op] == nil {
		r.costs[op] = &measure.Cost{}
	}
	return r.costs[op]
}

// batch measures each operation on all of es.
func (r *typeRun[V, T]) batch() error {
	err := r.cost("add").Measure(len(r.es), func() error { return r.change(r.add) })
	err = errors.Join(err, r.cost("remove").Measure(len(r.es), func() error { return r.change(r.remove) }))
	return errors.Join(err, r.merges())
}

func (r *typeRun[V, T]) change(fn func(T, string) error) error {
	for _, e := range r.es {
		if _, err := r.here.Update(func(t T) error { return fn(t, e) }); err != nil {
			return err
		}
	}
	return nil
}

// made returns what the other replica's updates make, encoded too.
func (r *typeRun[V, T]) made(fn func(T, string) error) (gs []crdt.Group, raw [][]byte, err error) {
	for _, e := range r.es {
		g, err := r.there.Update(func(t T) error { return fn(t, e) })
		if err != nil {
			return nil, nil, err
		}
		if g != nil {
			gs, raw = append(gs, g), append(raw, crdt.AppendGroup(nil, g))
		}
	}
	return gs, raw, nil
}

func (r *typeRun[V, T]) apply(gs []crdt.Group) error {
	for _, g := range gs {
		if out, err := r.here.Apply(g); err != nil || out != crdt.Applied {
			return fmt.Errorf("apply: %v, %w", out, err)
		}
	}
	return nil
}

func (r *typeRun[V, T]) merges() error {
	for _, op := range []string{"merge", "merge-encoded", "join"} {
		gs, raw, err := r.made(r.add)
		if err != nil {
			return err
		}
		switch op {
		case "merge":
			err = r.cost(op).Measure(len(gs), func() error { return r.apply(gs) })
		case "merge-encoded":
			err = r.cost(op).Measure(len(gs), func() error { return r.applyEncoded(raw) })
		case "join":
			err = r.join(gs)
		}
		if err != nil {
			return err
		}
		undo, _, err := r.made(r.remove)
		if err != nil {
			return err
		}
		if err := r.apply(undo); err != nil {
			return err
		}
	}
	return nil
}

func (r *typeRun[V, T]) applyEncoded(raw [][]byte) error {
	for _, b := range raw {
		g, err := crdt.DecodeGroup(b)
		if err != nil {
			return err
		}
		if out, err := r.here.Apply(g); err != nil || out != crdt.Applied {
			return fmt.Errorf("apply: %v, %w", out, err)
		}
	}
	return nil
}

// join takes each group over as items of a donor whose log does not help.
func (r *typeRun[V, T]) join(gs []crdt.Group) error {
	donor := r.here.Replica().Store().Clock().Clone()
	var items []crdt.Item
	return r.cost("join").Measure(len(gs), func() error {
		for _, g := range gs {
			items = items[:0]
			for _, e := range g {
				donor.Add(e.Dot)
				if e.Puts {
					items = append(items, crdt.Item{Dot: e.Dot, Key: e.Key, Path: e.Path, Payload: e.Payload})
				}
			}
			if err := r.here.Replica().MergeDiff(donor, nil, items, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// encodedSet measures how large a set is on the wire, added on one replica and on three.
func encodedSet(n int) error {
	for _, origins := range []int{1, 3} {
		set := crdt.New[crdt.ORSet[string]](crdt.Origin(rand.Uint64()))
		for k := range origins {
			other := crdt.New[crdt.ORSet[string]](crdt.Origin(rand.Uint64()))
			for i := k; i < n; i += origins {
				if _, err := other.Update(func(s *crdt.ORSetTx[string]) error {
					return s.Add(fmt.Sprintf("%016x", rand.Uint64()))
				}); err != nil {
					return err
				}
			}
			if err := set.Merge(other); err != nil {
				return err
			}
		}
		var items []*crdt.Item
		snap := set.Replica().Store().Snapshot()
		for it := range snap.Items() {
			items = append(items, it)
		}
		b := snap.Clock().Append(crdt.AppendItems(nil, items))
		var f measure.Figures
		f.Add("elements", len(items))
		f.Add("bytes", len(b))
		f.Add("bytes_per_element", float64(len(b))/float64(len(items)))
		f.Add("limit_bytes_per_element", 16)
		measure.Report("types", "encoded-orset-"+strconv.Itoa(origins)+"-origins", f)
	}
	return nil
}

// keyMemory measures what a small key takes: counters that one replica incremented once, with the
// log still there and after it was trimmed.
func keyMemory(n int) error {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("counter-%d", i)
	}
	before := measure.HeapBytes()
	r := crdt.NewReplica(1, crdt.StoreOptions{})
	for _, name := range names {
		_, err := r.Update(string([]byte(name)), 0,
			crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) }), nil)
		if err != nil {
			return err
		}
	}
	logged := measure.HeapBytes() - before
	r.Trim(r.Store().Clock().Clone())
	trimmed := measure.HeapBytes() - before
	before = measure.HeapBytes()
	plain := make(map[string]uint64)
	for _, name := range names {
		plain[string([]byte(name))] = 1
	}
	limit := measure.HeapBytes() - before
	var f measure.Figures
	f.Add("bytes_per_key", float64(trimmed)/float64(n))
	f.Add("bytes_per_key_with_log", float64(logged)/float64(n))
	f.Add("limit_bytes_per_key", float64(limit)/float64(n))
	measure.Report("types", "memory-counters-"+strconv.Itoa(n), f)
	runtime.KeepAlive(r)
	runtime.KeepAlive(plain)
	runtime.KeepAlive(names)
	return nil
}
