package tree

import (
	"math/bits"
	"slices"
	"strings"
)

// Loose is entries that are gathered in any order, to make a tree of all at once. That costs less than entering each:
// no node is searched, and no entry makes room for another. The zero value is empty.
type Loose[E comparable, P Placer[E]] struct {
	blocks [][]E // all of them full but the last one
	len    int
}

// looseBlock is how many entries are kept together: they need not be copied when more come.
const (
	looseBits  = 10
	looseBlock = 1 << looseBits
)

// Add adds an entry.
func (l *Loose[E, P]) Add(e E) {
	if l.len%looseBlock == 0 {
		l.blocks = append(l.blocks, make([]E, 0, looseBlock))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, e)
	l.len++
}

// Len counts the entries.
func (l *Loose[E, P]) Len() int { return l.len }

// at returns the i-th entry.
func (l *Loose[E, P]) at(i uint32) E { return l.blocks[i>>looseBits][i%looseBlock] }

func (l *Loose[E, P]) place(i uint32) string { return placeOf[E, P](l.at(i)) }

// Tree makes a tree of the entries, of which one stands at each place: of several it is the one that pick returns.
// Its nodes are full, the last ones perhaps not.
func (l *Loose[E, P]) Tree(pick func(same []E) E) (t Tree[E, P]) {
	all := make([]leaded, l.len)
	for i := range all {
		all[i].at = uint32(i)
	}
	skip := l.sort(all, 0)
	b := builder[E, P]{skip: skip}
	var same []E
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].lead == all[i].lead && l.place(all[j].at) == l.place(all[i].at) {
			j++
		}
		e := l.at(all[i].at)
		if j > i+1 {
			same = same[:0]
			for _, o := range all[i:j] {
				same = append(same, l.at(o.at))
			}
			e = pick(same)
		}
		b.add(e, all[i].lead)
		i = j
	}
	return b.tree()
}

// leaded is an entry while it is sorted: the eight bytes of its place after those that all share, as a number that
// sorts like them, and which entry it is. It holds no pointer, so that moving it costs little.
type leaded struct {
	lead uint64
	at   uint32
}

// leadBytes is how many bytes of a place a lead has.
const leadBytes = 8

// sort sorts by place entries whose places share their first skip bytes. It returns how many bytes the leads follow.
func (l *Loose[E, P]) sort(all []leaded, skip int) int {
	if len(all) == 0 {
		return skip
	}
	first := l.place(all[0].at)
	shared := len(first)
	for _, o := range all {
		shared = common(first[:shared], l.place(o.at))
	}
	skip = max(skip, shared)
	for i := range all {
		p := l.place(all[i].at)
		all[i].lead = uint64(lead(p, skip))<<32 | uint64(lead(p, skip+leadBytes/2))
	}
	radix(all, 64-radixBits)
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].lead == all[i].lead {
			j++
		}
		if j > i+1 {
			l.sortTied(all[i:j], skip+leadBytes)
		}
		i = j
	}
	return skip
}

// sortTied sorts entries whose places begin alike, up to skip or to their ends, and keeps their leads.
func (l *Loose[E, P]) sortTied(tied []leaded, skip int) {
	own := slices.Clone(tied)
	if slices.ContainsFunc(own, func(o leaded) bool { return len(l.place(o.at)) < skip }) {
		slices.SortFunc(own, func(a, b leaded) int { return strings.Compare(l.place(a.at), l.place(b.at)) })
	} else {
		l.sort(own, skip)
	}
	for i := range own {
		tied[i].at = own[i].at
	}
}

const (
	radixBits = 8
	radixMin  = 32 // so few are sorted one by one
)

// radix sorts by leads, of which only the bits up to the radixBits above shift differ: it puts each where those that
// have the same eight bits will be, in place, and then sorts these.
func radix(all []leaded, shift uint) {
	if len(all) < radixMin {
		insertionSort(all)
		return
	}
	const digits = 1 << radixBits
	var ends [digits]int // behind the last that has a digit
	for {
		differ := uint64(0)
		for i := range all {
			ends[all[i].lead>>shift%digits]++
			differ |= all[i].lead ^ all[0].lead
		}
		if differ == 0 {
			return
		}
		if top := uint(bits.Len64(differ)-1) / radixBits * radixBits; top < shift {
			shift = top
			clear(ends[:])
			continue
		}
		break
	}
	next := ends
	sum := 0
	for d := range ends {
		next[d], sum = sum, sum+ends[d]
		ends[d] = sum
	}
	for d := range ends {
		for i := next[d]; i < ends[d]; {
			to := all[i].lead >> shift % digits
			if to == uint64(d) {
				i++
				continue
			}
			all[i], all[next[to]] = all[next[to]], all[i]
			next[to]++
		}
	}
	from := 0
	for _, end := range ends {
		if shift > 0 && end > from+1 {
			radix(all[from:end], shift-radixBits)
		}
		from = end
	}
}

func insertionSort(all []leaded) {
	for i := 1; i < len(all); i++ {
		o := all[i]
		j := i
		for ; j > 0 && all[j-1].lead > o.lead; j-- {
			all[j] = all[j-1]
		}
		all[j] = o
	}
}
