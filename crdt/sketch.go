package crdt

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// A sketch of the live dots lets two stores find in which dots they differ, at a cost that goes with the difference.
// Only dots that are in both clocks need it: those that one clock lacks are found by ranges of the dot index.

// sketchFromDefault is how many live items make it worth while to keep a sketch current: making one
// for fewer takes about a millisecond.
const sketchFromDefault = 1 << 13

// dotHash makes the number by which a sketch knows a dot: a keyed hash of the origin, and the seq
// laid over it. A reader that knows the origins can turn the number back into the dot.
type dotHash struct {
	key  iblt.Key
	weak bool // the defect WeakSketch: dots of one origin have numbers in common
}

// hashOf returns the hash of the n-th key of a store's sketches. The sketch that is kept current has the key 0.
func (o *StoreOptions) hashOf(n uint64) dotHash {
	seed := iblt.NewKey(o.DigestSeed)
	return dotHash{key: iblt.NewKey(seed.Mix(n)), weak: o.Planted(defect.WeakSketch)}
}

func (h *dotHash) id(d Dot) uint64 {
	if h.weak {
		d.Seq &= 7
	}
	return h.key.Mix(uint64(d.Origin)) ^ d.Seq
}

// keptSketch is the sketch of all live dots that follows every change, while there are enough of them.
type keptSketch struct {
	*iblt.Sketch // nil: not kept now
	hash         dotHash
	cells        int // 0: none is ever kept
	from         int // live dots from which on it is kept
}

// put follows the birth of an item that the index has, after which count are live.
func (k *keptSketch) put(d Dot, count int, index *itemIndex) {
	switch {
	case k.Sketch != nil:
		k.Toggle(k.hash.id(d))
	case k.cells > 0 && count >= k.from:
		k.Sketch = iblt.New(k.hash.key, k.cells)
		for it := range index.All() {
			k.Toggle(k.hash.id(it.Dot))
		}
	}
}

// drop follows the death of an item, after which count are live.
func (k *keptSketch) drop(d Dot, count int) {
	if k.Sketch == nil {
		return
	}
	k.Toggle(k.hash.id(d))
	if count < k.from/2 {
		k.Sketch = nil
	}
}

// check makes the sketch of the live items anew.
func (k *keptSketch) check(count int, items iter.Seq[*Item]) error {
	if k.cells > 0 && count >= k.from && k.Sketch == nil {
		return fmt.Errorf("crdt: %d items and no sketch", count)
	}
	if k.Sketch == nil {
		return nil
	}
	again := iblt.New(k.hash.key, k.Len())
	for it := range items {
		again.Toggle(k.hash.id(it.Dot))
	}
	return k.is(again.Cells(), count)
}

// is holds the sketch against the cells of the live items.
func (k *keptSketch) is(cells []iblt.Cell, count int) error {
	if count < k.from/2 {
		return fmt.Errorf("crdt: %d items and a sketch", count)
	}
	if !slices.Equal(cells, k.Cells()) {
		return fmt.Errorf("crdt: the sketch is not that of the %d items", count)
	}
	return nil
}

// Sketcher makes the sketch of a moment's live dots that are in some clock, by and by.
type Sketcher struct {
	snap *Snapshot
	hash dotHash
	out  *iblt.Sketch
	walk *Clock // the dots still to be toggled
	done bool
}

// Sketcher begins a sketch, under the n-th key, of the live dots that are in within, a part of the
// moment's clock. It has the given number of cells at least. The sketch kept current serves the key
// 0 and so many cells as it has: then only what is not in within is taken out of it.
func (p *Pinned) Sketcher(n uint64, cells int, within *Clock) *Sketcher {
	k := &Sketcher{snap: p.Snapshot, hash: p.opt.hashOf(n), walk: within}
	if n == 0 && p.sketch != nil && cells <= p.sketch.Len() {
		if others := p.clock.Minus(within); others.Len() <= within.Len() {
			k.out, k.walk = p.sketch.Prefix(p.sketch.Len()), others
			return k
		}
	}
	k.out = iblt.New(k.hash.key, cells)
	return k
}

// Work goes on for at most so many items and reports whether the sketch is finished.
func (k *Sketcher) Work(most int) (done bool) {
	if k.done {
		return true
	}
	var last Dot
	for it := range k.snap.In(k.walk, Dot{}) {
		if most--; most < 0 {
			k.walk = k.walk.After(last)
			return false
		}
		last = it.Dot
		k.out.Toggle(k.hash.id(last))
	}
	k.walk, k.done = nil, true
	return true
}

// Done reports whether the sketch is finished.
func (k *Sketcher) Done() bool { return k.done }

// Cells returns the cells of the finished sketch. They must not be modified.
func (k *Sketcher) Cells() []iblt.Cell { return k.out.Cells() }

// DotFinder leads from the numbers in a sketch back to dots of a clock. Of an origin that is over it finds no dots
// above those that are alive at its moment: a sketch that has one does not decode, and the stores go another way.
type DotFinder struct {
	hash   dotHash
	within *Clock
	shift  uint
	high   map[uint64][]reach // by the bits of the hashes of origins that no seq reaches
}

// reach is how far the dots of an origin go that are looked for.
type reach struct {
	of   Origin
	most uint64
}

// Finder returns the finder for the sketches under the n-th key of the dots in within, which must
// not change any more.
func (p *Pinned) Finder(n uint64, within *Clock) *DotFinder {
	f := &DotFinder{hash: p.opt.hashOf(n), within: within, high: map[uint64][]reach{}}
	var all []reach
	for row := range within.Rows(0) {
		if first, last := row.Origins(); row.Base() < SeqMax {
			all = append(all, reach{first, row.Max()})
		} else {
			for o, most := range treesOf(p.Snapshot).index.Origins(first) {
				if o > last {
					break
				}
				all = append(all, reach{o, most})
			}
		}
	}
	for _, r := range all {
		f.shift = max(f.shift, uint(bits.Len64(r.most)))
	}
	for _, r := range all {
		h := f.hash.key.Mix(uint64(r.of)) >> f.shift
		f.high[h] = append(f.high[h], r)
	}
	return f
}

// Key returns the key of the sketches.
func (f *DotFinder) Key() iblt.Key { return f.hash.key }

// Find returns the one dot of the clock that has this number.
func (f *DotFinder) Find(id uint64) (d Dot, ok bool) {
	for _, r := range f.high[id>>f.shift] {
		e := Dot{Origin: r.of, Seq: id ^ f.hash.key.Mix(uint64(r.of))}
		if e.Seq > r.most || !f.within.Has(e) {
			continue
		}
		if ok {
			return Dot{}, false // of two origins: another key is needed
		}
		d, ok = e, true
	}
	return d, ok
}
