package passivation

// order is the entities of one area in the order in which they go. resize tells it the area's
// limit; it takes no entity out for that.
type order interface {
	insert(s Slot)
	touch(s Slot)
	remove(s Slot)
	first() Slot // the entity that goes next, 0: the area is empty
	pop() Slot   // takes that one out because it has to go
	resize(limit int)
}

var (
	_ order = (*recency)(nil)
	_ order = (*segments)(nil)
	_ order = (*frequency)(nil)
)

// recency is the order of use, from either end.
type recency struct {
	list
	latest bool // the most recent goes first
}

func (r *recency) insert(s Slot) { r.append(s) }
func (r *recency) touch(s Slot)  { r.list.remove(s); r.append(s) }
func (r *recency) remove(s Slot) { r.list.remove(s) }
func (r *recency) resize(int)    {}

func (r *recency) first() Slot {
	if r.latest {
		return r.list.last
	}
	return r.list.first
}

func (r *recency) pop() Slot {
	s := r.first()
	if s != 0 {
		r.list.remove(s)
	}
	return s
}

// segments are levels of recency. The upper ones never hold more than their part of the limit, and
// together less than all of it, so when the area is full the lowest has an entity.
type segments struct {
	levels []segment // the lowest first
}

type segment struct {
	list
	proportion float64
	limit      int // of an upper one
}

func newSegments(b *slab, proportions []float64) *segments {
	g := &segments{levels: make([]segment, len(proportions))}
	for i, p := range proportions {
		g.levels[i] = segment{list: list{slab: b}, proportion: p}
	}
	return g
}

func (g *segments) insert(s Slot) { g.put(0, s) }

func (g *segments) put(level int, s Slot) {
	l := &g.levels[level]
	l.append(s)
	l.nodes[s].level = uint8(level)
}

func (g *segments) remove(s Slot) {
	l := &g.levels[g.levels[0].nodes[s].level]
	l.remove(s)
}

func (g *segments) touch(s Slot) {
	level := int(g.levels[0].nodes[s].level)
	g.levels[level].remove(s)
	g.put(min(level+1, len(g.levels)-1), s)
	g.settle()
}

// settle lets sink what upper levels have no room for.
func (g *segments) settle() {
	for i := len(g.levels) - 1; i > 0; i-- {
		for l := &g.levels[i]; l.n > l.limit; {
			s := l.list.first
			l.remove(s)
			g.put(i-1, s)
		}
	}
}

// resize gives the upper levels their parts, rounded down. What the lowest has is what is left.
func (g *segments) resize(limit int) {
	left := limit
	for i := len(g.levels) - 1; i > 0; i-- {
		l := &g.levels[i]
		l.limit = max(0, min(int(l.proportion*float64(limit)), left-1))
		left -= l.limit
	}
	g.settle()
}

func (g *segments) first() Slot {
	for i := range g.levels {
		if s := g.levels[i].list.first; s != 0 {
			return s
		}
	}
	return 0
}

func (g *segments) pop() Slot {
	s := g.first()
	if s != 0 {
		g.remove(s)
	}
	return s
}
