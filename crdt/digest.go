package crdt

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

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
