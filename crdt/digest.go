package crdt

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Digest is the sum modulo 2^128 of keyed hashes of live items, high word first. It does not depend
// on the order in which items came, and putting or dropping one changes it in constant time. It
// guards against accidents, not against an adversary that knows the seed.
type Digest [2]uint64

func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }

// Plus returns the digest of the items of d and of those of e.
func (d Digest) Plus(e Digest) Digest {
	lo, carry := bits.Add64(d[1], e[1], 0)
	hi, _ := bits.Add64(d[0], e[0], carry)
	return Digest{hi, lo}
}

// Minus returns the digest of the items of d without those of e.
func (d Digest) Minus(e Digest) Digest {
	lo, borrow := bits.Sub64(d[1], e[1], 0)
	hi, _ := bits.Sub64(d[0], e[0], borrow)
	return Digest{hi, lo}
}

// HashItem returns the keyed hash of one item, what it adds to a digest. Key and path stand behind
// their lengths, so that no two items have the same bytes.
func HashItem(seed uint64, it *Item) Digest {
	var buf [256]byte
	_, h := hashItem(buf[:0], seed, it)
	return h
}

// hashItem is HashItem with the caller's scratch, which it returns grown.
func hashItem(buf []byte, seed uint64, it *Item) ([]byte, Digest) {
	buf = binary.AppendUvarint(buf[:0], uint64(len(it.Key)))
	buf = append(buf, it.Key...)
	buf = binary.AppendUvarint(buf, uint64(len(it.Path)))
	buf = append(buf, it.Path...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(it.Dot.Origin))
	buf = binary.BigEndian.AppendUint64(buf, it.Dot.Seq)
	buf = append(buf, it.Payload...)
	h := xxh3.Hash128Seed(buf, seed)
	return buf, Digest{h.Hi, h.Lo}
}
