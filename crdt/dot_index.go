package crdt

import (
	"math/bits"
	"slices"
)

// dotIndex finds live items by their dots. Per origin it is a tree of 64 ways over the seq, whose
// nodes keep only the children that they have. A dense run costs little more than a pointer per
// item, and a lone item one small node. A copy of the whole is a copy of the rows. Nodes of another
// generation than the writer's are shared with snapshots and are cloned before they are changed.
type dotIndex struct {
	rows   []dotRow // by origin
	pinned bool     // rows is shared with a snapshot
}

type dotRow struct {
	origin Origin
	levels uint // inner levels above the leaves; the tree holds seqs below 64^(levels+1)
	root   dotNode
}

// dotNode is a leaf of items at level 0, and an inner node of such nodes above. An empty node is
// never kept below the root.
type dotNode struct {
	gen   uint64
	bits  uint64     // which of the 64 slots are taken
	items []*Item    // level 0: of the taken slots, in order
	kids  []*dotNode // above: likewise
}

const (
	dotNodeBits = 6
	dotNodeMask = 1<<dotNodeBits - 1
)

// slot returns the bit of seq at level, and its place among the taken slots.
func (n *dotNode) slot(seq uint64, level uint) (bit uint64, i int) {
	bit = 1 << (seq >> (level * dotNodeBits) & dotNodeMask)
	return bit, bits.OnesCount64(n.bits & (bit - 1))
}

func (n *dotNode) own(gen uint64) *dotNode {
	if n.gen == gen {
		return n
	}
	return &dotNode{gen: gen, bits: n.bits, items: slices.Clone(n.items), kids: slices.Clone(n.kids)}
}

func (x *dotIndex) find(o Origin) (int, bool) {
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
func (r *dotRow) covers(seq uint64) bool {
	shift := (r.levels + 1) * dotNodeBits
	return shift >= 64 || seq>>shift == 0
}

// get returns the live item named d, nil when there is none.
func (x *dotIndex) get(d Dot) *Item {
	i, ok := x.find(d.Origin)
	if !ok || !x.rows[i].covers(d.Seq) {
		return nil
	}
	n := &x.rows[i].root
	for level := x.rows[i].levels; ; level-- {
		bit, k := n.slot(d.Seq, level)
		if n.bits&bit == 0 {
			return nil
		}
		if level == 0 {
			return n.items[k]
		}
		n = n.kids[k]
	}
}

// unpin makes the rows the writer's own.
func (x *dotIndex) unpin() {
	if x.pinned {
		x.rows = slices.Clone(x.rows)
		x.pinned = false
	}
}

// writable returns the row's root for changing at generation gen. Roots live in the rows, which
// unpin has copied, so that only what hangs on the root may still be shared.
func (r *dotRow) writable(gen uint64) *dotNode {
	if r.root.gen != gen {
		r.root.items, r.root.kids, r.root.gen = slices.Clone(r.root.items), slices.Clone(r.root.kids), gen
	}
	return &r.root
}

// put enters an item whose dot is not in the index yet.
func (x *dotIndex) put(gen uint64, it *Item) {
	x.unpin()
	i, ok := x.find(it.Dot.Origin)
	if !ok {
		x.rows = slices.Insert(x.rows, i, dotRow{origin: it.Dot.Origin, root: dotNode{gen: gen}})
	}
	r := &x.rows[i]
	n := r.writable(gen)
	for !r.covers(it.Dot.Seq) {
		if n.bits != 0 {
			low := *n
			*n = dotNode{gen: gen, bits: 1, kids: []*dotNode{&low}}
		}
		r.levels++
	}
	for level := r.levels; ; level-- {
		bit, k := n.slot(it.Dot.Seq, level)
		if level == 0 {
			n.items = slices.Insert(n.items, k, it)
			n.bits |= bit
			return
		}
		if n.bits&bit == 0 {
			n.kids = slices.Insert(n.kids, k, &dotNode{gen: gen})
			n.bits |= bit
		} else {
			n.kids[k] = n.kids[k].own(gen)
		}
		n = n.kids[k]
	}
}

// remove takes the item named d out and returns it, nil when there is none.
func (x *dotIndex) remove(gen uint64, d Dot) *Item {
	i, ok := x.find(d.Origin)
	if !ok || !x.rows[i].covers(d.Seq) {
		return nil
	}
	x.unpin()
	r := &x.rows[i]
	n := r.writable(gen)
	it := n.remove(gen, d.Seq, r.levels)
	if n.bits == 0 {
		x.rows = slices.Delete(x.rows, i, i+1)
	}
	return it
}

// remove takes out seq, nil when it is not there, from the node that the writer owns.
func (n *dotNode) remove(gen, seq uint64, level uint) (it *Item) {
	bit, k := n.slot(seq, level)
	if n.bits&bit == 0 {
		return nil
	}
	if level == 0 {
		it = n.items[k]
		n.items = slices.Delete(n.items, k, k+1)
		n.bits &^= bit
		return it
	}
	kid := n.kids[k].own(gen)
	n.kids[k] = kid
	if it = kid.remove(gen, seq, level-1); kid.bits == 0 {
		n.kids = slices.Delete(n.kids, k, k+1)
		n.bits &^= bit
	}
	return it
}

// snapshot returns a copy that later writes, at a newer generation, do not change.
func (x *dotIndex) snapshot() dotIndex {
	x.pinned = true
	return dotIndex{rows: x.rows, pinned: true}
}

// count counts the items, for checks.
func (x *dotIndex) count() int {
	n := 0
	for i := range x.rows {
		n += x.rows[i].root.count(x.rows[i].levels)
	}
	return n
}

func (n *dotNode) count(level uint) int {
	if level == 0 {
		return len(n.items)
	}
	sum := 0
	for _, k := range n.kids {
		sum += k.count(level - 1)
	}
	return sum
}
