package crdt_test

import (
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// placed is an operation on places P. It takes away what lives at the places that takes names, and
// then puts something at those that puts names.
type placed[P any] interface {
	takes(place P) bool
	puts(place P) bool
}

// livePlaces returns at which of the places something lives. A part of an operation ends without
// its other parts.
func livePlaces[O placed[P], P any](h proptest.History[O], places []P) (live []P) {
	for _, p := range places {
		if !putThere(h, p) {
			continue // which spares Live
		}
		for _, e := range h.Live(func(later, _ *proptest.Event[O]) bool { return later.Op.takes(p) }) {
			if e.Op.puts(p) {
				live = append(live, p)
				break
			}
		}
	}
	return live
}

func putThere[O placed[P], P any](h proptest.History[O], p P) bool {
	for e := range h.All() {
		if e.Op.puts(p) {
			return true
		}
	}
	return false
}

// binding is a place in a multimap.
type binding struct {
	Key  string
	Elem int
}

// bindOp is an operation on a multimap.
type bindOp struct {
	What what // add, remove, replace (E by F), put (E and F), update (removes the key), clear
	Key  string
	E, F int
}

func (op bindOp) takes(b binding) bool {
	switch op.What {
	case clearAll:
		return true
	case update, put:
		return b.Key == op.Key
	case replace:
		return b == binding{op.Key, op.E} || b == binding{op.Key, op.F}
	}
	return b == binding{op.Key, op.E}
}

func (op bindOp) puts(b binding) bool {
	switch op.What {
	case add:
		return b == binding{op.Key, op.E}
	case replace:
		return b == binding{op.Key, op.F}
	case put:
		return b == binding{op.Key, op.E} || b == binding{op.Key, op.F}
	}
	return false
}

// bindings is all that a multimap shows.
type bindings struct {
	All           []binding
	Keys          []string
	OfK           []int
	Len, KeyCount int
	Has, HasKey   bool
}

func multiMapLaws() proptest.Laws[crdt.ORMultiMap[string, int], *crdt.ORMultiMapTx[string, int], bindOp] {
	var places []binding
	for _, k := range []string{"k", "k0", "l"} {
		for e := range 3 {
			places = append(places, binding{k, e})
		}
	}
	return proptest.Laws[crdt.ORMultiMap[string, int], *crdt.ORMultiMapTx[string, int], bindOp]{
		Op: rapid.Custom(func(t *rapid.T) bindOp {
			return bindOp{
				What: rapid.SampledFrom([]what{
					add, add, add, remove, remove, replace, put, update, clearAll,
				}).Draw(t, "what"),
				Key: rapid.SampledFrom([]string{"k", "k0", "l"}).Draw(t, "key"),
				E:   rapid.IntRange(0, 2).Draw(t, "e"), F: rapid.IntRange(0, 2).Draw(t, "f"),
			}
		}),
		Do: doBinding,
		Value: func(m crdt.ORMultiMap[string, int]) any {
			b := bindings{Keys: slices.Collect(m.Keys()), OfK: slices.Collect(m.Get("k")),
				Len: m.Len(), KeyCount: m.KeyCount(),
				Has: m.Contains("k", 1), HasKey: m.ContainsKey("k0")}
			for k, e := range m.All() {
				b.All = append(b.All, binding{k, e})
			}
			return b
		},
		Model: func(h proptest.History[bindOp]) any {
			b := bindings{All: livePlaces(h, places)}
			for _, p := range b.All {
				b.Keys = append(b.Keys, p.Key)
				if p.Key == "k" {
					b.OfK = append(b.OfK, p.Elem)
				}
			}
			b.Keys = slices.Compact(b.Keys)
			b.Len, b.KeyCount = len(b.All), len(b.Keys)
			b.Has, b.HasKey = slices.Contains(b.All, binding{"k", 1}), slices.Contains(b.Keys, "k0")
			return b
		},
	}
}

func doBinding(m *crdt.ORMultiMapTx[string, int], op bindOp) (err error) {
	switch op.What {
	case add:
		err = m.Add(op.Key, op.E)
	case remove:
		err = m.Remove(op.Key, op.E)
	case replace:
		err = m.Replace(op.Key, op.E, op.F)
	case put:
		err = m.Put(op.Key, op.E, op.F)
	case update:
		err = m.RemoveKey(op.Key)
	case clearAll:
		err = m.Clear()
	}
	if there := m.Contains(op.Key, op.E); there != op.puts(binding{op.Key, op.E}) ||
		there != m.Value().Contains(op.Key, op.E) {
		return fmt.Errorf("after it, the transaction reads Contains(%s, %d) = %v", op.Key, op.E, there)
	}
	return err
}

// A map of maps of sets, with keys of any and of fixed width.
type (
	innerMap   = crdt.ORMap[int8, crdt.ORSet[string], *crdt.ORSetTx[string]]
	innerMapTx = crdt.ORMapTx[int8, crdt.ORSet[string], *crdt.ORSetTx[string]]
	outerMap   = crdt.ORMap[string, innerMap, *innerMapTx]
	outerMapTx = crdt.ORMapTx[string, innerMap, *innerMapTx]
)

// spot is a place in it: Depth 1 is the key K, 2 the key L there, 3 the element E there. What is
// below Depth is zero.
type spot struct {
	Depth int
	K     string
	L     int8
	E     string
}

// up returns the spot within which another is, at a depth.
func (s spot) up(depth int) spot {
	s.Depth = depth
	if depth < 3 {
		s.E = ""
	}
	if depth < 2 {
		s.L = 0
	}
	if depth < 1 {
		s.K = ""
	}
	return s
}

func (s spot) within(o spot) bool { return s.Depth >= o.Depth && s.up(o.Depth) == o }

func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.K, o.K), cmp.Compare(min(s.Depth, 2), min(o.Depth, 2)), cmp.Compare(s.L, o.L),
		cmp.Compare(s.Depth, o.Depth),
		cmp.Compare(s.E, o.E))
}

// nestedOp is an operation on the map.
type nestedOp struct {
	What what // add (of an element), update to no purpose (of a key), remove (of anything; at depth 0 of all)
	spot
}

// puts: an update puts anew every key on its way.
func (op nestedOp) puts(s spot) bool {
	last := op.Depth
	if op.What == remove {
		last--
	}
	return s.Depth >= 1 && s.Depth <= last && op.within(s)
}

func (op nestedOp) takes(s spot) bool { return op.puts(s) || op.What == remove && s.within(op.spot) }

// nestedView is all that such a map shows.
type nestedView struct {
	Spots []spot // that are there, each before what is within
	Len   int
	Keys  []string
	Has   bool
	Inner []int8 // the keys of "k"
}

func doNested(m *outerMapTx, op nestedOp) error {
	set := func(fn func(*crdt.ORSetTx[string]) error) error {
		return m.Update(op.K, func(m *innerMapTx) error { return m.Update(op.L, fn) })
	}
	switch {
	case op.What == add:
		return set(func(s *crdt.ORSetTx[string]) error { return s.Add(op.E) })
	case op.What == update:
		return m.Update(op.K, func(*innerMapTx) error { return nil })
	case op.Depth == 0:
		return m.Clear()
	case op.Depth == 1:
		return m.Remove(op.K)
	case op.Depth == 2:
		return m.Update(op.K, func(m *innerMapTx) error { return m.Remove(op.L) })
	}
	return set(func(s *crdt.ORSetTx[string]) error { return s.Remove(op.E) })
}

func showNested(m outerMap) any {
	v := nestedView{Len: m.Len(), Keys: slices.Collect(m.Keys()), Has: m.Contains("k\x00")}
	for k, inner := range m.All() {
		v.Spots = append(v.Spots, spot{Depth: 1, K: k})
		for l, set := range inner.All() {
			v.Spots = append(v.Spots, spot{Depth: 2, K: k, L: l})
			for e := range set.All() {
				v.Spots = append(v.Spots, spot{3, k, l, e})
			}
		}
	}
	if inner, ok := m.Get("k"); ok {
		v.Inner = slices.Collect(inner.Keys())
	}
	return v
}

func nestedLaws() proptest.Laws[outerMap, *outerMapTx, nestedOp] {
	var spots []spot
	for _, k := range []string{"k", "k\x00"} {
		for l := range int8(2) {
			for _, e := range []string{"x", "y"} {
				s := spot{3, k, l - 1, e}
				spots = append(spots, s.up(1), s.up(2), s)
			}
		}
	}
	slices.SortFunc(spots, spot.compare)
	spots = slices.Compact(spots)
	return proptest.Laws[outerMap, *outerMapTx, nestedOp]{
		Op: rapid.Custom(func(t *rapid.T) nestedOp {
			op := nestedOp{
				rapid.SampledFrom([]what{add, add, add, update, remove, remove, remove}).Draw(t, "what"),
				rapid.SampledFrom(spots).Draw(t, "spot"),
			}
			switch {
			case op.What == add && op.Depth < 3:
				op.spot = spots[len(spots)-1]
			case op.What == update:
				op.spot = op.up(1)
			case op.What == remove && rapid.IntRange(0, 9).Draw(t, "all") == 0:
				op.spot = spot{}
			}
			return op
		}),
		Do: func(m *outerMapTx, op nestedOp) error {
			err := doNested(m, op)
			if op.Depth > 0 && m.Contains(op.K) != op.puts(op.up(1)) {
				return fmt.Errorf("after it, the transaction reads Contains(%q) = %v", op.K, m.Contains(op.K))
			}
			return err
		},
		Value: showNested,
		// A key is there while anything lives at or below its place.
		Model: func(h proptest.History[nestedOp]) any {
			live := livePlaces(h, spots)
			var v nestedView
			for _, s := range spots {
				if !slices.ContainsFunc(live, func(l spot) bool { return l.within(s) }) {
					continue
				}
				v.Spots = append(v.Spots, s)
				switch {
				case s.Depth == 1:
					v.Keys = append(v.Keys, s.K)
				case s.Depth == 2 && s.K == "k":
					v.Inner = append(v.Inner, s.L)
				}
			}
			v.Len, v.Has = len(v.Keys), slices.Contains(v.Keys, "k\x00")
			return v
		},
	}
}
