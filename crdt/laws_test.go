package crdt_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// TestLaws holds every type to the laws. The models are written from the documentation, in terms of
// operations and of which replica had seen which; they know nothing of items, dots and encodings.
func TestLaws(t *testing.T) {
	for _, row := range []struct {
		name string
		laws interface{ Check(*testing.T) }
	}{
		{"Flag", flagLaws()},
		{"EWFlag", ewFlagLaws()},
		{"GCounter", gcounterLaws()},
		{"PNCounter", pnCounterLaws()},
		{"GSet", gsetLaws()},
		{"ORSet", orsetLaws(4)},
		{"ORSet of many", orsetLaws(100)},
		{"LWWRegister", lwwRegisterLaws()},
		{"FWWRegister", fwwRegisterLaws()},
		{"MVRegister", mvRegisterLaws()},
		{"LWWMap", lwwMapLaws()},
		{"ORMap of maps of sets", nestedLaws()},
		{"ORMap of counters", counterMapLaws()},
		{"ORMultiMap", multiMapLaws()},
		{"PNCounterMap", pnCounterMapLaws()},
		{"Whole", wholeLaws()},
		{"NodeSet", nodeSetLaws()},
		{"NodeMap", nodeMapLaws()},
	} {
		t.Run(row.name, row.laws.Check)
	}
}

// what an operation on a collection does.
type what string

const (
	add      what = "add"
	put      what = "put"
	putAt    what = "putAt"
	remove   what = "remove"
	clearAll what = "clear"
	replace  what = "replace"
	update   what = "update"
)

// setOp is an operation on a set.
type setOp struct {
	What what
	Elem string
}

// takes: a removal, or a new add, takes away the adds of its element; a clear takes all.
func (op setOp) takes(earlier setOp) bool { return op.What == clearAll || op.Elem == earlier.Elem }

// elements is all that a set shows.
type elements struct {
	All  []string
	Len  int
	Has0 bool
}

// drawSetOps draws operations on few or many elements.
func drawSetOps(size int, kinds ...what) *rapid.Generator[setOp] {
	return rapid.Custom(func(t *rapid.T) setOp {
		op := setOp{What: rapid.SampledFrom(kinds).Draw(t, "what")}
		if op.What != clearAll {
			op.Elem = fmt.Sprint("e", rapid.IntRange(0, size-1).Draw(t, "element"))
		}
		return op
	})
}

func orsetLaws(size int) proptest.Laws[crdt.ORSet[string], *crdt.ORSetTx[string], setOp] {
	kinds := []what{add, add, add, add, remove, remove, clearAll}
	if size > 50 { // let keys grow from slices to trees
		kinds = append(slices.Repeat([]what{add}, 40), remove, remove, remove, remove, remove, clearAll)
	}
	return proptest.Laws[crdt.ORSet[string], *crdt.ORSetTx[string], setOp]{
		Op: drawSetOps(size, kinds...),
		Do: func(s *crdt.ORSetTx[string], op setOp) error {
			var err error
			switch op.What {
			case add:
				err = s.Add(op.Elem)
			case remove:
				err = s.Remove(op.Elem)
			case clearAll:
				err = s.Clear()
			}
			if s.Contains(op.Elem) != (op.What == add) {
				return fmt.Errorf("after it, the transaction reads Contains(%q) = %v", op.Elem, s.Contains(op.Elem))
			}
			return err
		},
		Value: func(s crdt.ORSet[string]) any {
			return elements{slices.Collect(s.All()), s.Len(), s.Contains("e0")}
		},
		Model: func(h proptest.History[setOp]) any {
			var es []string
			for _, e := range h.Live(func(later, earlier *proptest.Event[setOp]) bool {
				return later.Op.takes(earlier.Op)
			}) {
				if e.Op.What == add {
					es = append(es, e.Op.Elem)
				}
			}
			slices.Sort(es)
			es = slices.Compact(es)
			return elements{es, len(es), slices.Contains(es, "e0")}
		},
	}
}

func gsetLaws() proptest.Laws[crdt.GSet[string], *crdt.GSetTx[string], string] {
	return proptest.Laws[crdt.GSet[string], *crdt.GSetTx[string], string]{
		Op: rapid.SampledFrom([]string{"e0", "e1", "e2", "e3"}),
		Do: func(s *crdt.GSetTx[string], e string) error {
			before, there := s.Len(), s.Contains(e)
			err := s.Add(e)
			if !s.Contains(e) || there != (s.Len() == before) || !slices.Contains(slices.Collect(s.All()), e) {
				return fmt.Errorf("after it, the transaction reads Contains(%q) = %v, Len %d",
					e, s.Contains(e), s.Len())
			}
			return err
		},
		Value: func(s crdt.GSet[string]) any { return elements{slices.Collect(s.All()), s.Len(), s.Contains("e0")} },
		Model: func(h proptest.History[string]) any {
			var es []string
			for e := range h.All() {
				es = append(es, e.Op)
			}
			slices.Sort(es)
			es = slices.Compact(es)
			return elements{es, len(es), slices.Contains(es, "e0")}
		},
	}
}
