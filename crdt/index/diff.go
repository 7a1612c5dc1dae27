package index

// Diff calls fn with what stands at each dot at which two states differ, before and now, by dots. The zero E
// says that nothing does. It costs what differs: nodes that both share are passed over.
func Diff[E comparable](before, now *Index[E], fn func(before, now E)) {
	if Same(before, now) {
		return
	}
	none := &row[E]{}
	for i, j := 0, 0; i < len(before.rows) || j < len(now.rows); {
		was, is := none, none
		if j == len(now.rows) || i < len(before.rows) && before.rows[i].origin <= now.rows[j].origin {
			was = &before.rows[i]
		}
		if i == len(before.rows) || j < len(now.rows) && now.rows[j].origin <= before.rows[i].origin {
			is = &now.rows[j]
			j++
		}
		if was != none {
			i++
		}
		levels := max(was.levels, is.levels)
		was.raised(levels).diff(is.raised(levels), levels, &none.root, fn)
	}
}

// Same reports whether two states are seen to hold the same at once, as they share all their memory.
func Same[E comparable](a, b *Index[E]) bool {
	return len(a.rows) == len(b.rows) && (len(a.rows) == 0 || &a.rows[0] == &b.rows[0])
}

// raised returns the row as a node with so many levels below it.
func (r *row[E]) raised(levels uint) *node[E] {
	n := &r.root
	for level := r.levels; level < levels && n.bits != 0; level++ {
		n = &node[E]{bits: 1, kids: []*node[E]{n}}
	}
	return n
}

// diff calls fn with what stands at the dots at which two nodes differ. none is an empty one.
func (n *node[E]) diff(now *node[E], level uint, none *node[E], fn func(before, now E)) {
	if n == now || n.shares(now) {
		return
	}
	i, j := 0, 0
	for set := n.bits | now.bits; set != 0; set &= set - 1 {
		bit := set & -set
		was, is := n.bits&bit != 0, now.bits&bit != 0
		if level > 0 {
			a, b := none, none
			if was {
				a = n.kids[i]
			}
			if is {
				b = now.kids[j]
			}
			if a != b {
				a.diff(b, level-1, none, fn)
			}
		} else {
			var a, b E
			if was {
				a = n.items[i]
			}
			if is {
				b = now.items[j]
			}
			if a != b {
				fn(a, b)
			}
		}
		if was {
			i++
		}
		if is {
			j++
		}
	}
}

// shares reports whether two nodes hold the same, in the same memory.
func (n *node[E]) shares(o *node[E]) bool {
	if n.bits != o.bits || n.bits == 0 {
		return n.bits == o.bits
	}
	if len(n.kids) > 0 && len(o.kids) > 0 {
		return &n.kids[0] == &o.kids[0]
	}
	return len(n.items) > 0 && len(o.items) > 0 && &n.items[0] == &o.items[0]
}
