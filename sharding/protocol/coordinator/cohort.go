package coordinator

import (
	"math/bits"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// cohort are the regions that take part in the hand-offs begun in one Step, and these.
type cohort struct {
	seq     uint64
	regions []protocol.UID
	places  map[protocol.UID]int // in regions
	moves   []protocol.Move      // until they are told
}

func newCohort(seq uint64, regions []protocol.UID) *cohort {
	c := &cohort{seq: seq, regions: regions, places: make(map[protocol.UID]int, len(regions))}
	for i, u := range regions {
		c.places[u] = i
	}
	return c
}

// waiting are the members of a cohort that have not answered a Begin, a bit each.
type waiting struct {
	cohort *cohort
	bits   []uint64
	count  int
}

// awaitAll waits for all members of a cohort.
func awaitAll(c *cohort) waiting {
	w := waiting{cohort: c, bits: make([]uint64, (len(c.regions)+63)/64), count: len(c.regions)}
	for i := range c.regions {
		w.bits[i/64] |= 1 << (i % 64)
	}
	return w
}

// answered notes that a member has answered, or is gone.
func (w *waiting) answered(u protocol.UID) {
	if i, is := w.cohort.places[u]; is && w.bits[i/64]>>(i%64)&1 != 0 {
		w.bits[i/64] &^= 1 << (i % 64)
		w.count--
	}
}

// list lists the members, in order.
func (w *waiting) list() (us []protocol.UID) {
	for i, b := range w.bits {
		for ; b != 0; b &= b - 1 {
			us = append(us, w.cohort.regions[i*64+bits.TrailingZeros64(b)])
		}
	}
	return us
}
