package crdt

import "github.com/coterie-go/coterie/crdt/iblt"

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
		more := treesOf(p.Snapshot).index.Ascend(r, func(it *Item) bool {
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
