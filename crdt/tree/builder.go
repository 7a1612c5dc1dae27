package tree

import "slices"

// builder makes a tree of entries that come in the order of their places, one at each.
type builder[E comparable, P Placer[E]] struct {
	skip   int // bytes of each place before its lead; all places share them
	leads  [nodeMax]uint64
	leaves []*node[E, P] // all of them are finished but the last one
	len    int
}

// add adds the next entry, whose place has the lead.
func (b *builder[E, P]) add(e E, lead uint64) {
	at := b.len % nodeMax
	if at == 0 {
		b.finish()
		b.leaves = append(b.leaves, &node[E, P]{low: placeOf[E, P](e), leads: blankLeads, entries: new([nodeMax]E)})
	}
	leaf := b.leaves[len(b.leaves)-1]
	leaf.entries[at], b.leads[at] = e, lead
	leaf.n++
	b.len++
}

// finish finishes the last leaf. It looks at no place but the first and the last one, if the leads say enough of
// the others.
func (b *builder[E, P]) finish() {
	if len(b.leaves) == 0 {
		return
	}
	leaf := b.leaves[len(b.leaves)-1]
	leaf.skip = int32(common(leaf.low, leaf.at(int(leaf.n)-1)))
	known := int(leaf.skip) - b.skip
	if known < 0 || known > leadBytes/2 {
		leaf.refit()
		return
	}
	for i := range leaf.leads[:leaf.n] {
		leaf.leads[i] = uint32(b.leads[i] >> (32 - 8*known))
	}
}

// tree returns the tree.
func (b *builder[E, P]) tree() (t Tree[E, P]) {
	if b.len == 0 {
		return t
	}
	b.finish()
	nodes := b.leaves
	for len(nodes) > 1 {
		var above []*node[E, P]
		for kids := range slices.Chunk(nodes, nodeMax) {
			above = append(above, newInner(t.gen, kids...))
		}
		nodes = above
	}
	return Tree[E, P]{root: nodes[0], len: b.len}
}
