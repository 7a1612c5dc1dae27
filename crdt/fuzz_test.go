package crdt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzValue feeds arbitrary items to the views, which must answer or refuse and never panic. A
// mutator works on what its view can read, refuses the rest, and leaves a sound store that travels
// whole.
func FuzzValue(f *testing.F) {
	f.Add("\x01aaaaaaaa", "\x05", "\x01aaaaaaab", "")
	f.Add("\x04key", "\x01\x01\x00v", "\x04key", "\x02\x01\x01\x00w")
	f.Add("\x03", "\x00\x00v", "", "")
	f.Add("\x0bk\x00\x01", "", "\x0bk\x00\x01/\x0bl\x00\x01/\x02e", "")
	f.Add("\x0ck\x00\x01\x01", "", "\x0cl\x00\x01\x00", "")
	f.Add("\x0dk\x00\x01aaaaaaaa", "\x05", "\x07aaaaaaaa", "\x02")
	f.Add("\x09", "\x01\x01\x00v", "\x0a", "\x83\x01\x02\x03")
	f.Add("\x02e", "", "\x02f", "")
	f.Add("\x12e", "", "\x13k\x00\x01", "v")
	// counts that can be folded
	f.Add("\x01\x00\x00\x00\x00\x00\x00\x00\x01", "\x05", "\x01\x00\x00\x00\x00\x00\x00\x00\x02", "\x06")
	f.Add("\x07\x00\x00\x00\x00\x00\x00\x00\x01", "\x05", "\x07\x00\x00\x00\x00\x00\x00\x00\x02", "\x06")
	f.Fuzz(func(t *testing.T, path1, payload1, path2, payload2 string) {
		s := NewStore(StoreOptions{})
		for i, p := range [][2]string{{path1, payload1}, {path2, payload2}} {
			if _, err := s.Apply(Group{
				{Dot: Dot{Origin: Origin(i + 1), Seq: 1}, Key: "k", Path: p[0], Puts: true, Payload: p[1]},
			}, nil); err != nil {
				return
			}
		}
		r := s.View("k")
		fuzzCounters(r)
		fuzzRegisters(r)
		fuzzCollections(r)
		fuzzOwned(r)
		r.Under(strings.Clone(path1)).First()
		fuzzMutators(t, s)
		fuzzFold(t, s)
	})
}

// fuzzFold folds what looks like counts of origins that are gone: what is read stays, whatever else
// it was.
func fuzzFold(t *testing.T, donor *Store) {
	read := func(r Reader) string {
		g, err1 := ViewOf[GCounter](r)
		p, err2 := ViewOf[PNCounter](r)
		m, err3 := ViewOf[PNCounterMap[string]](r)
		out := fmt.Sprint(g.Value(), err1 == nil, p.Value(), err2 == nil, err3 == nil)
		if err3 == nil {
			for k, n := range m.All() {
				out += fmt.Sprintf(" %q %d", k, n)
			}
		}
		return out
	}
	r := NewReplica(9, StoreOptions{})
	if err := r.Merge(donor.Clock(), func(Dot) bool { return true }, itemsCopied(donor), &Changes{}); err != nil {
		t.Fatal(err)
	}
	before := read(r.Store().View("k"))
	gone, known := func(o Origin) bool { return o != 9 }, func(Dot) bool { return true }
	for o := Origin(1); o <= 2; o++ {
		for from, more := uint64(0), true; more; more = from != 0 {
			var err error
			if _, from, err = r.FoldOf(o, from, 1, gone, known, &Changes{}); err != nil {
				return // a key of two types
			}
		}
	}
	if after := read(r.Store().View("k")); after != before {
		t.Fatalf("a fold made %s of %s", after, before)
	}
	if err := r.Store().Check(); err != nil {
		t.Fatal(err)
	}
}

func itemsCopied(s *Store) (items []Item) {
	for it := range s.Snapshot().Items() {
		items = append(items, *it)
	}
	return items
}

func fuzzOwned(r Reader) {
	if v, err := ViewOf[NodeSet[string]](r); err == nil {
		for range v.All() {
			v.Len()
		}
	}
	if v, err := ViewOf[NodeMap[string, int]](r); err == nil {
		for range v.All() {
			v.Len()
		}
	}
}

// fuzzMutators writes to what each of a few types makes of the items.
func fuzzMutators(t *testing.T, donor *Store) {
	fuzzMutator[ORSet[string]](t, donor, func(s *ORSetTx[string]) error {
		return errors.Join(s.Add("e"), s.Remove("f"))
	})
	fuzzMutator[GCounter](t, donor, func(c *GCounterTx) error { return c.Increment(2) })
	fuzzMutator[PNCounterMap[string]](t, donor, func(c *PNCounterMapTx[string]) error {
		return errors.Join(c.Increment("k", -2), c.Remove("l"))
	})
	fuzzMutator[LWWRegister[string]](t, donor, func(r *LWWRegisterTx[string]) error { return r.Put("v") })
	fuzzMutator[LWWMap[string, string]](t, donor, func(m *LWWMapTx[string, string]) error {
		return errors.Join(m.Put("k", "v"), m.Remove("l"))
	})
	fuzzMutator[ORMultiMap[string, string]](t, donor, func(m *ORMultiMapTx[string, string]) error {
		return errors.Join(m.Add("k", "v"), m.RemoveKey("l"))
	})
	fuzzMutator[NodeSet[string]](t, donor, func(s *NodeSetTx[string]) error {
		return errors.Join(s.Add("e"), s.Remove("f"))
	})
	fuzzMutator[EWFlag](t, donor, func(f *EWFlagTx) error { return f.Enable() })
}

func fuzzMutator[V Value[V, T], T any](t *testing.T, donor *Store, fn func(T) error) {
	r := NewReplica(9, StoreOptions{})
	all := func(Dot) bool { return true }
	if err := r.Merge(donor.Clock(), all, itemsCopied(donor), &Changes{}); err != nil {
		t.Fatal(err)
	}
	_, readable := ViewOf[V](r.Store().View("k"))
	g, err := r.Update("k", 1, Mutate[V](fn), &Changes{})
	if err == nil && readable == nil {
		_, readable = ViewOf[V](r.Store().View("k"))
	}
	// what is hidden counts for the kind only beside what is shown
	if err == nil && readable != nil && !r.Store().View("k").hides() {
		t.Fatalf("%T was written to, and can not be read: %v", *new(V), readable)
	}
	if err := r.Store().Check(); err != nil {
		t.Fatal(err)
	}
	if len(g) == 0 {
		return
	}
	back, err := DecodeGroup(AppendGroup(nil, g))
	if err != nil {
		t.Fatalf("what %T wrote does not travel: %v", *new(V), err)
	}
	if out, err := copyOf(t, donor).Apply(back, &Changes{}); err != nil || out != Applied {
		t.Fatalf("what %T wrote is %v elsewhere: %v", *new(V), out, err)
	}
}

func fuzzCounters(r Reader) {
	_, _ = ViewOf[GCounter](r)
	_, _ = ViewOf[PNCounter](r)
	if v, err := ViewOf[PNCounterMap[string]](r); err == nil {
		for k := range v.All() {
			_, _ = v.Value(k)
			v.Len()
		}
	}
}

func fuzzRegisters(r Reader) {
	if v, err := ViewOf[LWWRegister[map[string]int]](r); err == nil {
		v.Get()
	}
	if v, err := ViewOf[FWWRegister[[]byte]](r); err == nil {
		v.Get()
	}
	if v, err := ViewOf[MVRegister[point]](r); err == nil {
		for range v.All() {
			v.Get()
		}
	}
	_, _ = ViewOf[Flag](r)
	_, _ = ViewOf[EWFlag](r)
	if v, err := ViewOf[Whole[tally]](r); err == nil {
		v.Get()
	}
}

func fuzzCollections(r Reader) {
	if v, err := ViewOf[ORSet[int8]](r); err == nil {
		for range v.All() {
			v.Len()
		}
	}
	if v, err := ViewOf[GSet[hashed]](r); err == nil {
		for range v.All() {
			v.Len()
		}
	}
	if v, err := ViewOf[LWWMap[[2]string, []int]](r); err == nil {
		for range v.All() {
			v.Len()
		}
	}
	if v, err := ViewOf[ORMultiMap[string, bool]](r); err == nil {
		for k := range v.All() {
			for range v.Get(k) {
				v.KeyCount()
			}
		}
	}
	if v, err := ViewOf[ORMap[string, setMap, *setMapTx]](r); err == nil {
		for k, m := range v.All() {
			for l := range m.All() {
				_ = m.Err(l)
			}
			v.Contains(k)
		}
	}
	if v, err := ViewOf[ORMap[uint32, GCounter, *GCounterTx]](r); err == nil {
		for k := range v.Keys() {
			_ = v.Err(k)
		}
	}
}

// copyOf returns a store that holds the same.
func copyOf(t *testing.T, s *Store) *Store {
	c := NewStore(StoreOptions{})
	var items []Item
	for it := range s.Snapshot().Items() {
		items = append(items, *it)
	}
	if err := c.Merge(s.Clock(), func(Dot) bool { return true }, items, &Changes{}); err != nil {
		t.Fatal(err)
	}
	return c
}
