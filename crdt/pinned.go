package crdt

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/iblt"
)

// Pinned is one moment of a store from which it is repaired or helps others: its Snapshot, and the
// sketch as it was then. It belongs to one goroutine.
type Pinned struct {
	*Snapshot
	opt    StoreOptions
	sketch *iblt.Sketch // nil: none was kept
	buf    []byte       // scratch of hashing
}

// Pin returns this moment. It copies the sketch, 16 bytes a cell.
func (s *Store) Pin() *Pinned {
	p := &Pinned{Snapshot: s.Snapshot(), opt: s.opt}
	if k := s.live.sketch.Sketch; k != nil {
		p.sketch = k.Prefix(k.Len())
	}
	return p
}

// Hash returns what an item adds to the digest.
func (p *Pinned) Hash(it *Item) (h Digest) {
	p.buf, h = hashItem(p.buf, p.opt.DigestSeed, it)
	return h
}

// Sum adds up the hashes of the live items whose dots are in c and come after a dot, at most so
// many. It returns where it stopped, the zero Dot when that was the end.
func (p *Pinned) Sum(c *Clock, after Dot, most int) (sum Digest, last Dot) {
	for it := range p.In(c, after) {
		if most--; most < 0 {
			return sum, last
		}
		last = it.Dot
		sum = sum.Plus(p.Hash(it))
	}
	return sum, Dot{}
}

// Buckets cuts the dots of c into runs of per live items each, at most so many runs. It returns how
// many dots each run but the last has, the sums of their items, and the last dot of the last run;
// the zero Dot when that is the end of c.
func (p *Pinned) Buckets(c *Clock, per, most int) (sizes []uint64, sums []Digest, last Dot) {
	var sum Digest
	n, size := 0, uint64(0)
	for r := range c.Ranges() {
		from := r.First
		more := p.index.ascend(r, func(it *Item) bool {
			sum = sum.Plus(p.Hash(it))
			if n++; n < per {
				return true
			}
			sums = append(sums, sum)
			if last = it.Dot; len(sums) == most {
				return false
			}
			sizes = append(sizes, size+it.Dot.Seq-from+1)
			sum, n, size, from = Digest{}, 0, 0, it.Dot.Seq+1
			return true
		})
		if !more {
			return sizes, sums, last
		}
		size += r.Last - from + 1
	}
	return sizes, append(sums, sum), Dot{}
}

// Split cuts c into runs of so many dots each, and a last one with what remains. Where c ends
// before, the rest are empty.
func (c *Clock) Split(sizes []uint64) []*Clock {
	sizes = slices.Clone(sizes)
	out := make([]*Clock, 1, len(sizes)+1)
	out[0] = &Clock{}
	for r := range c.Ranges() {
		for n := len(out) - 1; n < len(sizes) && sizes[n] <= r.Last-r.First; n++ {
			if sizes[n] > 0 {
				out[n].AddRange(r.Origin, r.First, r.First+sizes[n]-1)
				r.First += sizes[n]
			}
			out = append(out, &Clock{})
		}
		n := len(out) - 1
		out[n].AddRange(r.Origin, r.First, r.Last)
		if n < len(sizes) {
			sizes[n] -= r.Last - r.First + 1
		}
	}
	for len(out) <= len(sizes) {
		out = append(out, &Clock{})
	}
	return out
}
