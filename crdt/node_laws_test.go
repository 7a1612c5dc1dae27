package crdt_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// owners is all that a node-owned set shows: its elements, and whose they are.
type owners struct {
	All    []string
	Len    int
	Owners map[string][]crdt.Origin
}

func nodeSetLaws() proptest.Laws[crdt.NodeSet[string], *crdt.NodeSetTx[string], setOp] {
	return proptest.Laws[crdt.NodeSet[string], *crdt.NodeSetTx[string], setOp]{
		Op: drawSetOps(4, add, add, add, add, remove, remove, clearAll),
		Do: func(s *crdt.NodeSetTx[string], op setOp) error {
			var err error
			switch op.What {
			case add:
				err = s.Add(op.Elem)
			case remove:
				err = s.Remove(op.Elem)
			case clearAll:
				err = s.Clear()
			}
			if s.Owns(op.Elem) != (op.What == add) {
				return fmt.Errorf("after it, the transaction reads Owns(%q) = %v", op.Elem, s.Owns(op.Elem))
			}
			return err
		},
		Value: func(s crdt.NodeSet[string]) any {
			v := owners{slices.Collect(s.All()), s.Len(), map[string][]crdt.Origin{}}
			for _, e := range v.All {
				v.Owners[e] = slices.Collect(s.Owners(e))
				for _, o := range v.Owners[e] {
					if own := slices.Collect(s.Of(o)); !slices.Contains(own, e) || !slices.IsSorted(own) ||
						len(slices.Compact(own)) < len(own) {
						return fmt.Sprintf("Of(%v) is %v, and it owns %s", o, own, e)
					}
				}
			}
			return v
		},
		Model: func(h proptest.History[setOp]) any {
			v := owners{Owners: map[string][]crdt.Origin{}}
			for _, e := range h.Live(func(later, earlier *proptest.Event[setOp]) bool {
				return later.Origin == earlier.Origin && later.Op.takes(earlier.Op)
			}) {
				if own := v.Owners[e.Op.Elem]; e.Op.What == add && !slices.Contains(own, e.Origin) {
					own = append(own, e.Origin)
					slices.Sort(own)
					v.Owners[e.Op.Elem] = own
				}
			}
			v.All = slices.Sorted(maps.Keys(v.Owners))
			v.Len = len(v.All)
			return v
		},
	}
}

// nodeEntries is all that a node-owned map shows: what the last writer wrote, and what each node
// did.
type nodeEntries struct {
	All  map[int64]string
	Each [mapKeys]map[crdt.Origin]string
	Len  int
}

func nodeMapLaws() proptest.Laws[crdt.NodeMap[int64, string], *crdt.NodeMapTx[int64, string], writeOp] {
	spec := newLastWriter()
	spec.own = true
	return proptest.Laws[crdt.NodeMap[int64, string], *crdt.NodeMapTx[int64, string], writeOp]{
		Op: drawWrites(mapKeys, put, put, put, remove, remove, clearAll),
		Do: func(m *crdt.NodeMapTx[int64, string], op writeOp) error {
			var err error
			switch op.What {
			case put:
				err = m.Put(op.Key, op.Value)
			case remove:
				err = m.Remove(op.Key)
			case clearAll:
				err = m.Clear()
			}
			if v, ok := m.Own(op.Key); ok != (op.What == put) || v != op.Value {
				return fmt.Errorf("after it, the transaction reads Own(%d) = %q, %v", op.Key, v, ok)
			}
			return err
		},
		Value: func(m crdt.NodeMap[int64, string]) any {
			es := nodeEntries{All: maps.Collect(m.All()), Len: m.Len()}
			for k := range es.Each {
				es.Each[k] = map[crdt.Origin]string{}
				for o, v := range m.Each(int64(k)) {
					if _, twice := es.Each[k][o]; twice || maps.Collect(m.Of(o))[int64(k)] != v {
						return fmt.Sprintf("Each(%d) yields %v with %q once more, or Of does not: %v",
							k, o, v, maps.Collect(m.Of(o)))
					}
					es.Each[k][o] = v
				}
				if v, ok := m.Get(int64(k)); ok != (len(es.Each[k]) > 0) || v != es.All[int64(k)] {
					return fmt.Sprintf("Get(%d) = %q, %v, and All says %v", k, v, ok, es.All)
				}
			}
			return es
		},
		Model: func(h proptest.History[writeOp]) any {
			es := nodeEntries{All: map[int64]string{}}
			for k := range es.Each {
				es.Each[k] = map[crdt.Origin]string{}
				if win := spec.winner(h, int64(k)); win != nil {
					es.All[int64(k)] = win.Op.Value
				}
				last := map[crdt.Origin]*write{}
				for _, e := range h.Live(spec.takes) {
					if e.Op.What == put && e.Op.Key == int64(k) &&
						(last[e.Origin] == nil || spec.beats(e, last[e.Origin])) {
						last[e.Origin] = e
						es.Each[k][e.Origin] = e.Op.Value
					}
				}
			}
			es.Len = len(es.All)
			return es
		},
	}
}
