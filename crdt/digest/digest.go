package digest

import (
	"fmt"
	"math/bits"
)

// Digest is the sum modulo 2^128 of the hashes of a set, high word first. It does not depend on the
// order in which they came, and one more or less changes it in constant time. It guards against
// accidents, not against an adversary that can choose the hashes.
type Digest [2]uint64

func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }

// Plus returns the digest of the sets of d and e.
func (d Digest) Plus(e Digest) Digest {
	lo, carry := bits.Add64(d[1], e[1], 0)
	hi, _ := bits.Add64(d[0], e[0], carry)
	return Digest{hi, lo}
}

// Minus returns the digest of the set of d without that of e.
func (d Digest) Minus(e Digest) Digest {
	lo, borrow := bits.Sub64(d[1], e[1], 0)
	hi, _ := bits.Sub64(d[0], e[0], borrow)
	return Digest{hi, lo}
}
