package crdt

import (
	"cmp"
	"slices"
)

// The specification that histories are judged by: operations, each with the puts that its replica could read there when it was made, and what a
// replica that has seen a set of operations must read. It knows nothing of dots, clocks, stores or encodings.
//
// An operation overwrites what was alive for its replica, not all that its replica had ever seen: delivery is not causal, so a third
// replica may have an operation before an earlier removal that its maker had seen.

// specOp is one operation that made an event.
type specOp struct {
	id     int
	origin uint64
	key    string
	elem   string // of a set, or key of a map; "" for a whole key
	puts   bool
	ts     Timestamp // of a last-writer put
	value  string    // of a last-writer put
	count  uint64    // of a counter: the origin's total with this operation
	over   specSet   // what it overwrites
}

// specSet is a set of operations by id.
type specSet map[int]*specOp

func (s specSet) clone() specSet {
	c := make(specSet, len(s))
	for id, op := range s {
		c[id] = op
	}
	return c
}

func (s specSet) join(o specSet) {
	for id, op := range o {
		s[id] = op
	}
}

// observe records what op overwrites: what is alive in seen at its place. Counts of other origins are other places.
func (op *specOp) observe(seen specSet) {
	op.over = specSet{}
	for _, p := range seen.alive(op.key) {
		same := op.elem == p.elem || op.elem == ""
		if op.count > 0 {
			same = op.origin == p.origin
		}
		if same {
			op.over[p.id] = p
		}
	}
}

// alive returns the puts of a key that no operation of the set overwrites, in order of id.
func (s specSet) alive(key string) []*specOp {
	var live []*specOp
	for _, p := range s {
		if p.key != key || !p.puts {
			continue
		}
		over := false
		for _, op := range s {
			over = over || op.over[p.id] != nil
		}
		if !over {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, func(a, b *specOp) int { return cmp.Compare(a.id, b.id) })
	return live
}

// aliveAt returns the live puts of one element.
func (s specSet) aliveAt(key, elem string) []*specOp {
	return slices.DeleteFunc(s.alive(key), func(op *specOp) bool { return op.elem != elem })
}

// elements returns what a set must hold: the elements of which an add is alive, in order.
func (s specSet) elements(key string) []string {
	var es []string
	for _, op := range s.alive(key) {
		es = append(es, op.elem)
	}
	slices.Sort(es)
	return slices.Compact(es)
}

// winner returns the write that a last-writer place must show: the highest by timestamp, origin and bytes.
func (s specSet) winner(key, elem string) *specOp {
	var win *specOp
	for _, op := range s.aliveAt(key, elem) {
		if win == nil || specCompare(op, win) > 0 {
			win = op
		}
	}
	return win
}

func specCompare(a, b *specOp) int {
	return cmp.Or(
		cmp.Compare(a.ts.High, b.ts.High), cmp.Compare(a.ts.Low, b.ts.Low),
		cmp.Compare(a.origin, b.origin), cmp.Compare(a.value, b.value))
}

// counts returns per origin the highest total seen.
func (s specSet) counts(key string) map[uint64]uint64 {
	tops := make(map[uint64]uint64)
	for _, op := range s {
		if op.key == key && op.count > 0 {
			tops[op.origin] = max(tops[op.origin], op.count)
		}
	}
	return tops
}

// count returns what a counter must show.
func (s specSet) count(key string) (sum uint64) {
	for _, n := range s.counts(key) {
		sum += n
	}
	return sum
}

// nextTimestamp returns what a last-writer put at the given wall time must take.
func (s specSet) nextTimestamp(key, elem string, wall int64) Timestamp {
	var top Timestamp
	if w := s.winner(key, elem); w != nil {
		top = w.ts
	}
	if wall > 0 && uint64(wall) > top.High {
		return Timestamp{High: uint64(wall)}
	}
	return Timestamp{top.High, top.Low + 1}
}
