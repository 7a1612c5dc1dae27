package simtest_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/proptest/simtest"
)

// tag adds or removes an element.
type tag struct {
	Adds bool
	Elem string
}

// tags are the laws of an ORSet.
var tags = proptest.Laws[crdt.ORSet[string], *crdt.ORSetTx[string], tag]{
	Op: rapid.Custom(func(t *rapid.T) tag {
		return tag{rapid.Bool().Draw(t, "adds"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "element")}
	}),
	Do: func(s *crdt.ORSetTx[string], o tag) error {
		if o.Adds {
			return s.Add(o.Elem)
		}
		return s.Remove(o.Elem)
	},
	Value: func(s crdt.ORSet[string]) any { return slices.Sorted(s.All()) },
	Model: func(h proptest.History[tag]) any {
		there := map[string]bool{}
		for _, e := range h.Live(func(later, earlier *proptest.Event[tag]) bool {
			return later.Op.Elem == earlier.Op.Elem
		}) {
			if e.Op.Adds {
				there[e.Op.Elem] = true
			}
		}
		var all []string
		for _, elem := range []string{"a", "b"} {
			if there[elem] {
				all = append(all, elem)
			}
		}
		return all
	},
}

// A set reads as its model on every node, whatever happens to nodes and disks.
func TestSet(t *testing.T) {
	simtest.Data[crdt.ORSet[string], *crdt.ORSetTx[string], tag]{Laws: tags}.Check(t)
}

// FuzzSet has worlds from a fuzzer.
func FuzzSet(f *testing.F) {
	simtest.Data[crdt.ORSet[string], *crdt.ORSetTx[string], tag]{Laws: tags}.Fuzz(f)
}

// TestHalfRemoved fails on purpose: a removal adds when the set has several elements, or none.
func TestHalfRemoved(t *testing.T) {
	failing.OnPurpose(t)
	faulty := tags
	faulty.Do = func(s *crdt.ORSetTx[string], o tag) error {
		if o.Adds || s.Len() == 1 {
			return tags.Do(s, o)
		}
		return s.Add(o.Elem) // the planted mistake
	}
	simtest.Data[crdt.ORSet[string], *crdt.ORSetTx[string], tag]{Laws: faulty}.Check(t)
}
