package passivation

// Slot names an entity in a Policy, from the Add that returned it until it is evicted or removed. 0
// names none. Slots are small: the owner may index a slice by them.
type Slot uint32

// node is what is known of every entity.
type node struct {
	prev, next Slot // in a list of its area; next also among free slots
	hash       uint64
	place      place
	level      uint8 // of a segmented area
}

type place uint8

const (
	placeNone place = iota
	placeWindow
	placeMain
)

// slab holds the nodes; slot 0 belongs to no entity.
type slab struct {
	nodes []node
	free  Slot // the first free slot; the free ones are linked by next
}

func newSlab() *slab { return &slab{nodes: make([]node, 1)} }

func (b *slab) take(hash uint64) Slot {
	s := b.free
	if s == 0 {
		b.nodes = append(b.nodes, node{hash: hash})
		return Slot(len(b.nodes) - 1)
	}
	b.free = b.nodes[s].next
	b.nodes[s] = node{hash: hash}
	return s
}

func (b *slab) give(s Slot) {
	b.nodes[s] = node{next: b.free}
	b.free = s
}

// list is a queue of slots: first is the least recent.
type list struct {
	*slab
	first, last Slot
	n           int
}

func (l *list) append(s Slot) {
	x := &l.nodes[s]
	x.prev, x.next = l.last, 0
	if l.last == 0 {
		l.first = s
	} else {
		l.nodes[l.last].next = s
	}
	l.last = s
	l.n++
}

func (l *list) remove(s Slot) {
	x := &l.nodes[s]
	if x.prev == 0 {
		l.first = x.next
	} else {
		l.nodes[x.prev].next = x.next
	}
	if x.next == 0 {
		l.last = x.prev
	} else {
		l.nodes[x.next].prev = x.prev
	}
	x.prev, x.next = 0, 0
	l.n--
}
