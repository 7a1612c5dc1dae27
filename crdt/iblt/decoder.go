package iblt

import (
	"math"
	"math/bits"
)

// Decoder takes the cells of two sketches as they come, and finds the numbers that are in one set
// only.
//
// Invariants: a cell is the exclusive or of the numbers of the difference that are in it and not
// yet found; every cell that holds a single number is in ready, or was looked at since it changed.
type Decoder struct {
	key   Key
	real  func(id uint64) bool
	cells []Cell
	ready []int // cells to look at
	found []uint64
	full  int // cells that are not blank
	bad   bool

	from, blanks int // of the cells from here on, so many were blank when they came
}

// NewDecoder returns a decoder without cells. The numbers of which real says that they cannot be
// are not believed.
func NewDecoder(key Key, real func(id uint64) bool) *Decoder { return &Decoder{key: key, real: real} }

// Add takes the next cells of both rows.
func (d *Decoder) Add(mine, theirs []Cell) {
	old := len(d.cells)
	if len(mine) == 0 {
		return
	}
	d.from, d.blanks = old, 0
	for i := range min(len(mine), len(theirs)) {
		c := Cell{mine[i].ID ^ theirs[i].ID, mine[i].Check ^ theirs[i].Check}
		if c.blank() {
			d.blanks++
		} else {
			d.full++
		}
		d.cells = append(d.cells, c)
		d.look(old + i)
	}
	for _, id := range d.found {
		d.take(id, d.key.Mix(id), old)
	}
}

// Peel looks for numbers, at most so many at a time, and reports whether it should be called again.
func (d *Decoder) Peel(most int) (more bool) {
	for most > 0 && len(d.ready) > 0 && !d.bad {
		j := d.ready[len(d.ready)-1]
		d.ready = d.ready[:len(d.ready)-1]
		c := d.cells[j]
		hash := d.key.Mix(c.ID)
		if c.blank() || uint32(hash) != c.Check || !d.key.holds(hash, j) || !d.real(c.ID) {
			continue
		}
		most--
		d.found = append(d.found, c.ID)
		d.bad = len(d.found) > len(d.cells) // so much cannot be in so few
		d.take(c.ID, hash, 0)
	}
	return len(d.ready) > 0 && !d.bad
}

// take takes a number out of its cells from one on.
func (d *Decoder) take(id, hash uint64, from int) {
	if from == 0 {
		d.flip(0, id, hash)
	}
	n := blocksUpTo(len(d.cells))
	for set := d.key.blocksOf(hash) & (1<<n - 1); set != 0; set &= set - 1 {
		if j := int(blocks[bits.TrailingZeros64(set)].at(hash)); j >= from && j < len(d.cells) {
			d.flip(j, id, hash)
		}
	}
}

func (d *Decoder) flip(j int, id, hash uint64) {
	c := &d.cells[j]
	was := c.blank()
	c.ID ^= id
	c.Check ^= uint32(hash)
	switch now := c.blank(); {
	case now && !was:
		d.full--
	case was && !now:
		d.full++
	}
	d.look(j)
}

// look queues a cell that seems to hold a single number.
func (d *Decoder) look(j int) {
	if c := &d.cells[j]; !c.blank() && uint32(d.key.Mix(c.ID)) == c.Check {
		d.ready = append(d.ready, j)
	}
}

// Done reports whether the whole difference is found.
func (d *Decoder) Done() bool { return len(d.cells) > 0 && d.full == 0 && !d.bad }

// Bad reports whether what came is no sketch, so that more cells will not help.
func (d *Decoder) Bad() bool { return d.bad }

// Found returns the numbers found so far, in no order. It belongs to the decoder.
func (d *Decoder) Found() []uint64 { return d.found }

// Len counts the cells taken so far.
func (d *Decoder) Len() int { return len(d.cells) }

// Estimate guesses from the cells added last how many numbers the difference has. It cannot when
// hardly any of them was blank: there are more than so many cells can tell.
func (d *Decoder) Estimate() (n int, ok bool) {
	m := len(d.cells)
	if d.blanks < 2 {
		return 0, false
	}
	// The blanks that n numbers leave fall with n: halve until the guess is close.
	lo, hi := 0.0, 8*float64(m)
	for range 40 {
		mid := (lo + hi) / 2
		if expectedBlanks(mid, d.from, m) > float64(d.blanks) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return int(lo + 0.5), true
}

// expectedBlanks is how many of the cells from one up to another n numbers leave blank.
func expectedBlanks(n float64, from, to int) float64 {
	sum := 0.0
	if from == 0 && n < 1 {
		sum++
	}
	for i := range blocks {
		b := &blocks[i]
		first, last := max(int(b.start), from), min(int(b.start+b.size), to)
		if first < last {
			sum += float64(last-first) * math.Exp(n*math.Log1p(-0.5/float64(b.size)))
		}
	}
	return sum
}
