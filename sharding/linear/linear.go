package linear

import "math/bits"

// Chain is the chain of a hash among n, which is at least 1: by its lowest bits, one fewer if the chain that they name
// has not been split off yet.
func Chain(hash, n uint32) uint32 {
	mask := uint32(1)<<bits.Len32(n-1) - 1
	if hash&mask >= n {
		mask >>= 1
	}
	return hash & mask
}

// Split says which of n chains, which is at least 1, is divided when the chain with the number n is added, and which
// bit of a hash is set in what moves there.
func Split(n uint32) (from, bit uint32) {
	bit = uint32(1) << (bits.Len32(n) - 1)
	return n &^ bit, bit
}

// TagFrom is the lowest bit of a hash that a tag has: the part that a table keeps with an element. What a table with
// fewer chains has fits into the caches of a processor, and can be hashed anew.
const TagFrom = 16

// Tagged says whether a bit of a hash is set by its tag of so many bits; known: the tag has that bit.
func Tagged(tag uint32, bits int, bit uint32) (set, known bool) {
	return tag&(bit>>TagFrom) != 0, bit>>TagFrom != 0 && bit>>(TagFrom+bits) == 0
}
