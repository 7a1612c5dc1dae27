package iblt

import (
	"math/bits"
	"slices"
)

// Key makes the hash functions of a sketch. Sketches compare only when they were made with the same
// key.
type Key struct {
	in, mid, set       uint64 // added to what is multiplied
	first, next, third uint64 // odd factors
}

// NewKey returns the key of a seed.
func NewKey(seed uint64) Key {
	draw := func() uint64 {
		seed += 0xa0761d6478bd642f
		return fold(seed^0xe7037ed1a0b428db, seed^0x589965cc75374cc3)
	}
	return Key{in: draw(), mid: draw(), set: draw(), first: draw() | 1, next: draw() | 1, third: draw() | 1}
}

// fold multiplies and lays one half of the product over the other.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Mix returns a keyed hash of x, good enough against accidents.
func (k *Key) Mix(x uint64) uint64 { return fold(fold(x^k.in, k.first)^k.mid, k.next) }

// blocksOf returns of the hash of a number the bits that choose its blocks.
func (k *Key) blocksOf(hash uint64) uint64 { return fold(hash^k.set, k.third) }

// block is a run of cells of which a number is in one or in none.
type block struct {
	start, size uint64
	factor      uint64 // odd; hash times factor, the high half, chooses the cell
}

// CellsMax is the length of the longest sketch.
const CellsMax = 1 << 20

// blocks divides the cells behind the first, up to CellsMax and a little further. Their number is
// below 64.
var blocks = makeBlocks()

func makeBlocks() []block {
	var out []block
	key := NewKey(1)
	for at := uint64(1); at < CellsMax; {
		b := block{start: at, size: max(1, (at+2)*3/8), factor: key.Mix(at) | 1}
		out = append(out, b)
		at += b.size
	}
	return out
}

// at returns the cell of the block where a number with this hash is, if the block is one of the
// number's blocks.
func (b *block) at(hash uint64) uint64 { return b.start + b.size*(hash*b.factor>>32)>>32 }

// blocksUpTo counts the blocks that begin before cell m.
func blocksUpTo(m int) int {
	n, _ := slices.BinarySearchFunc(blocks, uint64(m), func(b block, m uint64) int {
		if b.start < m {
			return -1
		}
		return 1
	})
	return n
}

// holds reports whether a number with this hash is in cell j.
func (k *Key) holds(hash uint64, j int) bool {
	if j == 0 {
		return true
	}
	n := blocksUpTo(j+1) - 1
	return k.blocksOf(hash)>>n&1 == 1 && blocks[n].at(hash) == uint64(j)
}
