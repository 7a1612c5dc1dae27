package tree

import (
	"math"
	"math/bits"
	"strings"
)

// node is a leaf with entries, or an inner node with kids.
//
// Invariants: low is no higher than any place below the node; low and all places share their first
// skip bytes; leads hold, of each entry's place or kid's low, the four bytes after those, and
// ascend; lows of kids ascend, and a kid's places are below the next one's low.
type node[E comparable, P Placer[E]] struct {
	gen     uint64
	skip    int32
	n       int32                 // entries or kids
	kids    *[nodeMax]*node[E, P] // of an inner node
	entries *[nodeMax]E           // of a leaf
	low     string
	leads   [nodeMax]uint32 // beyond n all ones, which are below nothing
}

// nodeMax is how many entries or kids a node holds at most; seek is written for this number.
const nodeMax = 64

// way is how a place that will be entered comes to a node.
type way struct {
	place string
	// how many leading bytes it shares with the node's low; never less than is true of the first
	// skip of them
	shared int
	below  bool // it is below the node's low
	// what match says of this node and of those below it, on the way to a place that fits them all;
	// nil: not known
	steps []cursorStep
}

// blankLeads are those of an empty node.
var blankLeads = func() (b [nodeMax]uint32) {
	for i := range b {
		b[i] = math.MaxUint32
	}
	return b
}()

// newLeaf makes a node of one entry.
func newLeaf[E comparable, P Placer[E]](gen uint64, e E) *node[E, P] {
	n := &node[E, P]{gen: gen, low: placeOf[E, P](e), leads: blankLeads, entries: new([nodeMax]E), n: 1}
	n.entries[0] = e
	n.fit()
	return n
}

// newInner puts nodes, which are in order, under a new one.
func newInner[E comparable, P Placer[E]](gen uint64, kids ...*node[E, P]) *node[E, P] {
	n := &node[E, P]{gen: gen, low: kids[0].low, leads: blankLeads, n: int32(len(kids))}
	n.kids = new([nodeMax]*node[E, P])
	copy(n.kids[:], kids)
	n.fit()
	return n
}

// own returns the node itself when it is of the generation, else a clone.
func (n *node[E, P]) own(gen uint64) *node[E, P] {
	if n.gen == gen {
		return n
	}
	c := *n
	c.gen = gen
	if n.kids != nil {
		kids := *n.kids
		c.kids = &kids
	} else {
		entries := *n.entries
		c.entries = &entries
	}
	return &c
}

// at returns the i-th entry's place, or the i-th kid's low.
func (n *node[E, P]) at(i int) string {
	if n.kids != nil {
		return n.kids[i].low
	}
	return placeOf[E, P](n.entries[i])
}

// lead returns the four bytes of a place after skip as a number that sorts like them, zeros beyond
// its end.
func lead(place string, skip int) (l uint32) {
	if len(place)-skip >= 4 {
		p := place[skip : skip+4]
		return uint32(p[3]) | uint32(p[2])<<8 | uint32(p[1])<<16 | uint32(p[0])<<24
	}
	for i := skip; i < len(place); i++ {
		l |= uint32(place[i]) << (24 - 8*(i-skip))
	}
	return l
}

// common returns how many leading bytes a and b share. It compares eight at a time.
func common(a, b string) int {
	i, n := 0, min(len(a), len(b))
	for ; i+8 <= n; i += 8 {
		if diff := word(a[i:]) ^ word(b[i:]); diff != 0 {
			return i + bits.TrailingZeros64(diff)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// word returns the first eight bytes of s, the first one lowest.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// seek returns how many leads are below l: the eights of which the last one is, then those of the
// next eight. No branch can be guessed wrong, and none of the comparisons of a round, nor their
// cache misses, waits for another, as those of a binary search do.
func seek(leads *[nodeMax]uint32, l uint32) int {
	i := below(leads[7], l) + below(leads[15], l) + (below(leads[23], l) + below(leads[31], l)) +
		(below(leads[39], l) + below(leads[47], l)) + below(leads[55], l)
	i = i * 8 % nodeMax
	in := (*[8]uint32)(leads[i : i+8])
	return int(i + (below(in[0], l) + below(in[1], l)) + (below(in[2], l) + below(in[3], l)) +
		((below(in[4], l) + below(in[5], l)) + (below(in[6], l) + below(in[7], l))))
}

// below returns 1 if a < b, else 0.
func below(a, b uint32) uint64 { return (uint64(a) - uint64(b)) >> 63 }

// match returns where a place stands, or would stand, if it begins as all places of the node do. It
// trusts the numbers and looks at places only where they tie.
func (n *node[E, P]) match(place string) (int, bool) {
	l := lead(place, int(n.skip))
	lo := seek(&n.leads, l)
	hi := lo
	for hi < int(n.n) && n.leads[hi] == l {
		hi++
	}
	// Many places are entered behind those that begin alike, as the events of an entity are: the last
	// of them comes first.
	for m := hi - 1; lo < hi; m = int(uint(lo+hi) >> 1) {
		switch c := strings.Compare(n.at(m), place); {
		case c == 0:
			return m, true
		case c < 0:
			lo = m + 1
		default:
			hi = m
		}
	}
	return lo, false
}

// insert makes room for one more at i.
func (n *node[E, P]) insert(i int, lead uint32) {
	copy(n.leads[i+1:], n.leads[i:n.n])
	n.leads[i] = lead
	if n.kids != nil {
		copy(n.kids[i+1:], n.kids[i:n.n])
	} else {
		copy(n.entries[i+1:], n.entries[i:n.n])
	}
	n.n++
}

// delete closes the gap that the i-th leaves.
func (n *node[E, P]) delete(i int) {
	n.n--
	copy(n.leads[i:], n.leads[i+1:n.n+1])
	n.leads[n.n] = math.MaxUint32
	if n.kids != nil {
		copy(n.kids[i:], n.kids[i+1:n.n+1])
		n.kids[n.n] = nil
	} else {
		copy(n.entries[i:], n.entries[i+1:n.n+1])
		clear(n.entries[n.n : n.n+1])
	}
}

// fit computes skip anew, the most that it can be, and the leads.
func (n *node[E, P]) fit() {
	last := int(n.n) - 1
	n.skip = int32(common(n.low, n.at(last)))
	if n.kids != nil {
		n.skip = min(n.skip, n.kids[last].skip) // places of the last kid may be above its low
	}
	n.refit()
}

// refit computes the leads anew.
func (n *node[E, P]) refit() {
	for i := range n.leads[:n.n] {
		n.leads[i] = lead(n.at(i), int(n.skip))
	}
}

// welcome makes the node's invariants true of a place that will be entered below it.
func (n *node[E, P]) welcome(w way) {
	if w.below {
		n.low = w.place
	}
	if w.shared < int(n.skip) {
		n.skip = int32(w.shared)
		n.refit()
	}
}

// set is Tree.Set below a node that the tree owns; right is the node's new neighbour when it had to
// split.
func (n *node[E, P]) set(gen uint64, w way, e E) (prev E, right *node[E, P]) {
	i, same := n.enterAt(&w)
	if n.kids == nil {
		if same {
			prev, n.entries[i] = n.entries[i], e
			return prev, nil
		}
		if n.n == nodeMax && i == nodeMax {
			return prev, newLeaf[E, P](gen, e)
		}
		return prev, n.grow(gen, i, w.place, func(n *node[E, P], i int) { n.entries[i] = e })
	}
	w, k := n.onward(w, i, same)
	kid := n.kids[k].own(gen)
	n.kids[k] = kid
	prev, r := kid.set(gen, w, e)
	if w.below {
		n.leads[k] = lead(kid.low, int(n.skip))
	}
	switch {
	case r == nil:
		return prev, nil
	case n.n == nodeMax && k+1 == nodeMax:
		return prev, newInner(gen, r)
	}
	return prev, n.grow(gen, k+1, r.low, func(n *node[E, P], i int) { n.kids[i] = r })
}

// enterAt returns where a place that will be entered stands, or would stand, and makes the node's
// invariants true of it.
func (n *node[E, P]) enterAt(w *way) (int, bool) {
	if w.steps != nil {
		return int(w.steps[0].i), w.steps[0].same
	}
	n.welcome(*w)
	return n.match(w.place)
}

// onward returns the kid to which a place goes, and how it comes there.
func (n *node[E, P]) onward(w way, i int, same bool) (way, int) {
	if !same {
		i--
	}
	if w.steps != nil {
		w.steps = w.steps[1:]
		return w, i
	}
	if i < 0 {
		return way{place: w.place, shared: common(w.place, n.kids[0].low), below: true}, 0
	}
	w.below, w.shared = false, n.sharing(i, w.place)
	return w, i
}

// sharing returns how many leading bytes a place that is not below a kid's low shares with that.
func (n *node[E, P]) sharing(i int, place string) int {
	if diff := n.leads[i] ^ lead(place, int(n.skip)); diff != 0 {
		return min(len(place), int(n.skip)+bits.LeadingZeros32(diff)/8)
	}
	return common(place, n.kids[i].low)
}

// grow enters one more at i. An overfull node moves its upper half to a new neighbour, right.
func (n *node[E, P]) grow(gen uint64, i int, place string, enter func(n *node[E, P], i int)) (right *node[E, P]) {
	if n.n == nodeMax {
		right = n.split(gen)
		if i > int(n.n) {
			right.enter(i-int(n.n), place, enter)
			return right
		}
	}
	n.enter(i, place, enter)
	return right
}

func (n *node[E, P]) enter(i int, place string, enter func(n *node[E, P], i int)) {
	n.insert(i, lead(place, int(n.skip)))
	enter(n, i)
	if i > 0 && n.leads[i] == n.leads[i-1] || i+1 < int(n.n) && n.leads[i] == n.leads[i+1] {
		n.sharpen()
	}
}

// split moves the upper half of a full node to a new one.
func (n *node[E, P]) split(gen uint64) *node[E, P] {
	const half = nodeMax / 2
	r := &node[E, P]{gen: gen, low: n.at(half), skip: n.skip, n: half, leads: blankLeads}
	copy(r.leads[:half], n.leads[half:])
	copy(n.leads[half:], blankLeads[half:])
	if n.kids != nil {
		r.kids = new([nodeMax]*node[E, P])
		copy(r.kids[:], n.kids[half:])
		clear(n.kids[half:])
	} else {
		r.entries = new([nodeMax]E)
		copy(r.entries[:], n.entries[half:])
		clear(n.entries[half:])
	}
	n.n = half
	return r
}

// sharpen fits a node whose leads tie, if that helps. Where none tie, places may share more than
// skip says: that costs nothing.
func (n *node[E, P]) sharpen() {
	if n.leads[0]>>24 == n.leads[n.n-1]>>24 {
		n.fit()
	}
}

// remove is Tree.Remove below a node that the tree owns.
func (n *node[E, P]) remove(gen uint64, place string, steps []cursorStep) {
	var i int
	var same bool
	if steps != nil {
		i, same, steps = int(steps[0].i), steps[0].same, steps[1:]
	} else {
		i, same = n.match(place)
	}
	if n.kids == nil {
		n.delete(i)
		return
	}
	if !same {
		i--
	}
	kid := n.kids[i].own(gen)
	n.kids[i] = kid
	if kid.remove(gen, place, steps); kid.n == 0 {
		n.delete(i)
	}
}

func (n *node[E, P]) ascend(from string, fn func(E) bool) bool {
	i, same := n.from(from)
	if n.kids == nil {
		for _, e := range n.entries[i:n.n] {
			if !fn(e) {
				return false
			}
		}
		return true
	}
	if !same && i > 0 {
		i--
	}
	for _, kid := range n.kids[i:n.n] {
		if !kid.ascend(from, fn) {
			return false
		}
		from = "" // the next ones are above it altogether
	}
	return true
}

// from is match for places that may begin otherwise.
func (n *node[E, P]) from(place string) (int, bool) {
	switch {
	case common(place, n.low) >= int(n.skip):
		return n.match(place)
	case place < n.low:
		return 0, false
	}
	return int(n.n), false
}
