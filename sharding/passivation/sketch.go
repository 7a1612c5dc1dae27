package passivation

import (
	"math"
	"math/bits"
)

// sketch counts how often hashes were seen. It is a count-min sketch (Cormode, Muthukrishnan, 2005)
// with conservative update (Estan, Varghese, 2002). A count is too high now and then. It is never
// too low, unless its counter is full. After every period all counts are halved, so that what is
// not seen any more fades.
type sketch struct {
	words  []uint64
	bits   uint   // of a counter
	top    uint64 // of what it counts
	halves uint64 // of a word that was shifted, the bits that are the counter's own
	depth  int
	shift  uint // takes the upper bits of a hash as an index into a row
	width  uint64
	seen   int // in this period
	period int
}

func newSketch(cfg Sketch, capacity int) *sketch {
	capacity = max(1, capacity)
	rowBits := uint(bits.Len(uint(capacity-1))) + uint(bits.Len(uint(cfg.WidthMultiplier-1)))
	k := &sketch{
		bits: uint(cfg.CounterBits), depth: cfg.Depth, width: 1 << rowBits, shift: 64 - rowBits,
		top: math.MaxUint64 >> (64 - uint(cfg.CounterBits)), period: max(1, int(cfg.ResetMultiplier*float64(capacity))),
	}
	k.halves = k.top >> 1
	for b := k.bits; b < 64; b *= 2 {
		k.halves |= k.halves << b
	}
	k.words = make([]uint64, (uint64(k.depth)*k.width*uint64(k.bits)+63)/64)
	return k
}

// counter finds the counter of a hash in a row. Rows differ by a second hash that is a part of the
// first (Kirsch, Mitzenmacher, 2006).
func (k *sketch) counter(row int, hash uint64) (word *uint64, shift uint) {
	h := (hash + uint64(row)*(bits.RotateLeft64(hash, 32)|1)) * 0x9e3779b97f4a7c15
	per := uint64(64 / k.bits)
	i := uint64(row)*k.width + h>>k.shift
	return &k.words[i/per], uint(i%per) * k.bits
}

func (k *sketch) estimate(hash uint64) uint64 {
	least := k.top
	for row := range k.depth {
		w, shift := k.counter(row, hash)
		least = min(least, *w>>shift&k.top)
	}
	return least
}

// count counts one more.
func (k *sketch) count(hash uint64) {
	if least := k.estimate(hash); least < k.top {
		for row := range k.depth {
			if w, shift := k.counter(row, hash); *w>>shift&k.top == least {
				*w += 1 << shift
			}
		}
	}
	if k.seen++; k.seen >= k.period {
		for i := range k.words {
			k.words[i] = k.words[i] >> 1 & k.halves
		}
		k.seen /= 2
	}
}
