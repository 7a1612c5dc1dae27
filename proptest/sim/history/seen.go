package history

import (
	"iter"
	"slices"
)

// Seen are entries of a set, as bits by their places in its book.
type Seen []uint64

// Has reports whether an entry is among them.
func (s Seen) Has(e *Entry) bool { return e.at/64 < len(s) && s[e.at/64]&e.bit() != 0 }

// Note puts an entry among them, or takes it away.
func (s *Seen) Note(e *Entry, is bool) {
	for len(*s) <= e.at/64 {
		*s = append(*s, 0)
	}
	if (*s)[e.at/64] &^= e.bit(); is {
		(*s)[e.at/64] |= e.bit()
	}
}

// Equal reports whether two are the same entries.
func (s Seen) Equal(o Seen) bool {
	if len(s) > len(o) {
		s, o = o, s
	}
	return slices.Equal(s, o[:len(s)]) && !slices.ContainsFunc(o[len(s):], func(bits uint64) bool { return bits != 0 })
}

// word returns the bits of entries from 64*i on.
func (s Seen) word(i int) uint64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// word returns the bits of all entries from 64*i on.
func (b *Set) word(i int) uint64 {
	if rest := len(b.Entries) - 64*i; rest < 64 {
		return 1<<max(0, rest) - 1
	}
	return ^uint64(0)
}

func (e *Entry) bit() uint64 { return 1 << (e.at % 64) }

// Seen are the entries of elements. Those that no client asked to add are left out.
func (b *Set) Seen(elems iter.Seq[string]) (s Seen) {
	for elem := range elems {
		if e := b.ByElem[elem]; e != nil {
			s.Note(e, true)
		}
	}
	return s
}

// Having reports of an entry whether its element is there.
func Having(has func(elem string) bool) func(*Entry) bool {
	return func(e *Entry) bool { return has(e.Elem) }
}
