package index

import (
	"math/bits"
	"slices"

	"github.com/coterie-go/coterie/crdt/dots"
)

// Index finds entries by their dots. Per origin it is a tree of 64 ways over the seq, whose nodes keep
// only the children that they have. A dense run costs little more than an entry, and a lone entry one
// small node. A copy of the whole is a copy of the rows. Nodes of an older generation than the index's
// are shared with snapshots and are cloned before they are changed. The zero value is empty.
type Index[E comparable] struct {
	rows   []row[E] // by origin
	gen    uint64   // of the nodes that are its own; a snapshot raises it
	pinned bool     // rows is shared with a snapshot

	// The leaf to which something came last, and its place; nil: not known. Events of one origin come
	// in order, and find it there. If it is of the index's generation, the index has it still.
	hot   *node[E]
	hotAt dots.Dot
}

type row[E comparable] struct {
	origin dots.Origin
	levels uint // inner levels above the leaves; the tree holds seqs below 64^(levels+1)
	root   node[E]
}

// node is a leaf of entries at level 0, and an inner node of such nodes above. An empty node is
// never kept below the root.
type node[E comparable] struct {
	gen   uint64
	bits  uint64     // which of the 64 slots are taken
	items []E        // level 0: of the taken slots, in order
	kids  []*node[E] // above: likewise
}

const (
	nodeBits = 6
	nodeMask = 1<<nodeBits - 1
)

// slot returns the bit of seq at level, and its place among the taken slots.
func (n *node[E]) slot(seq uint64, level uint) (bit uint64, i int) {
	bit = 1 << (seq >> (level * nodeBits) & nodeMask)
	return bit, bits.OnesCount64(n.bits & (bit - 1))
}

func (n *node[E]) own(gen uint64) *node[E] {
	if n.gen == gen {
		return n
	}
	return &node[E]{gen: gen, bits: n.bits, items: forOneMore(n.items), kids: forOneMore(n.kids)}
}

// forOneMore returns a copy with room for one more, which mostly comes next.
func forOneMore[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, min(len(s)+1, 1<<nodeBits)), s...)
}

func (x *Index[E]) find(o dots.Origin) (int, bool) {
	lo, hi := 0, len(x.rows)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if x.rows[m].origin < o {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo, lo < len(x.rows) && x.rows[lo].origin == o
}

// covers reports whether the row's tree is high enough for seq.
func (r *row[E]) covers(seq uint64) bool {
	shift := (r.levels + 1) * nodeBits
	return shift >= 64 || seq>>shift == 0
}

// hotLeaf returns the leaf for d that the index owns, if something came to it last; else nil.
func (x *Index[E]) hotLeaf(d dots.Dot) *node[E] {
	if x.hot == nil || x.hot.gen != x.gen || d.Origin != x.hotAt.Origin || d.Seq>>nodeBits != x.hotAt.Seq {
		return nil
	}
	return x.hot
}

// Get returns the entry at d, the zero E when there is none.
func (x *Index[E]) Get(d dots.Dot) (none E) {
	if n := x.hotLeaf(d); n != nil {
		if bit, k := n.slot(d.Seq, 0); n.bits&bit != 0 {
			return n.items[k]
		}
		return none
	}
	i, ok := x.find(d.Origin)
	if !ok || !x.rows[i].covers(d.Seq) {
		return none
	}
	n := &x.rows[i].root
	for level := x.rows[i].levels; ; level-- {
		bit, k := n.slot(d.Seq, level)
		if n.bits&bit == 0 {
			return none
		}
		if level == 0 {
			return n.items[k]
		}
		n = n.kids[k]
	}
}

// unpin makes the rows the writer's own.
func (x *Index[E]) unpin() {
	if x.pinned {
		x.rows = slices.Clone(x.rows)
		x.pinned = false
	}
}

// writable returns the row's root for changing at generation gen. Roots live in the rows, which
// unpin has copied, so that only what hangs on the root may still be shared.
func (r *row[E]) writable(gen uint64) *node[E] {
	if r.root.gen != gen {
		r.root.items, r.root.kids, r.root.gen = forOneMore(r.root.items), forOneMore(r.root.kids), gen
	}
	return &r.root
}

// Put enters an entry at a dot at which none is yet.
func (x *Index[E]) Put(d dots.Dot, e E) {
	if n := x.hotLeaf(d); n != nil {
		n.enter(d.Seq, e)
		return
	}
	x.unpin()
	gen := x.gen
	i, ok := x.find(d.Origin)
	if !ok {
		x.rows = slices.Insert(x.rows, i, row[E]{origin: d.Origin, root: node[E]{gen: gen}})
	}
	r := &x.rows[i]
	n := r.writable(gen)
	for !r.covers(d.Seq) {
		if n.bits != 0 {
			low := *n
			*n = node[E]{gen: gen, bits: 1, kids: []*node[E]{&low}}
		}
		r.levels++
	}
	for level := r.levels; ; level-- {
		if level == 0 {
			if n.enter(d.Seq, e); n != &r.root {
				x.hot, x.hotAt = n, dots.Dot{Origin: d.Origin, Seq: d.Seq >> nodeBits}
			}
			return
		}
		bit, k := n.slot(d.Seq, level)
		if n.bits&bit == 0 {
			kid := &node[E]{gen: gen}
			if level == 1 && x.follows(d) {
				kid.items = make([]E, 0, 1<<nodeBits)
			}
			n.kids = slices.Insert(n.kids, k, kid)
			n.bits |= bit
		} else {
			n.kids[k] = n.kids[k].own(gen)
		}
		n = n.kids[k]
	}
}

// follows reports whether the leaf before that of d was the last to which something came, and is full: then that of
// d is likely to become full too.
func (x *Index[E]) follows(d dots.Dot) bool {
	return x.hot != nil && len(x.hot.items) == 1<<nodeBits && d.Origin == x.hotAt.Origin &&
		d.Seq>>nodeBits == x.hotAt.Seq+1
}

// enter puts an entry into a leaf.
func (n *node[E]) enter(seq uint64, e E) {
	bit, k := n.slot(seq, 0)
	n.items = slices.Insert(n.items, k, e)
	n.bits |= bit
}

// Remove takes the entry at d out and returns it, the zero E when there is none.
func (x *Index[E]) Remove(d dots.Dot) (none E) {
	i, ok := x.find(d.Origin)
	if !ok || !x.rows[i].covers(d.Seq) {
		return none
	}
	x.unpin()
	r := &x.rows[i]
	n := r.writable(x.gen)
	e := n.remove(x.gen, d.Seq, r.levels)
	if x.hot != nil && x.hot.bits == 0 {
		x.hot = nil
	}
	if n.bits == 0 {
		x.rows = slices.Delete(x.rows, i, i+1)
	}
	return e
}

// remove takes out seq, if it is there, from the node that the writer owns.
func (n *node[E]) remove(gen, seq uint64, level uint) (e E) {
	bit, k := n.slot(seq, level)
	if n.bits&bit == 0 {
		return e
	}
	if level == 0 {
		e = n.items[k]
		n.items = slices.Delete(n.items, k, k+1)
		n.bits &^= bit
		return e
	}
	kid := n.kids[k].own(gen)
	n.kids[k] = kid
	if e = kid.remove(gen, seq, level-1); kid.bits == 0 {
		n.kids = slices.Delete(n.kids, k, k+1)
		n.bits &^= bit
	}
	return e
}

// Snapshot returns a copy. Neither sees what is written to the other later.
func (x *Index[E]) Snapshot() Index[E] {
	x.gen++
	x.pinned = true
	return *x
}

// Count counts the entries, for checks.
func (x *Index[E]) Count() int {
	n := 0
	for i := range x.rows {
		n += x.rows[i].root.count(x.rows[i].levels)
	}
	return n
}

func (n *node[E]) count(level uint) int {
	if level == 0 {
		return len(n.items)
	}
	sum := 0
	for _, k := range n.kids {
		sum += k.count(level - 1)
	}
	return sum
}
