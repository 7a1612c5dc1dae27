package sums

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// clockSum hashes a clock. buf is its memory from call to call.
func clockSum(c *crdt.Clock, buf *[]byte) [2]uint64 {
	b := (*buf)[:0]
	for r := range c.Ranges() {
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Origin))
		b = binary.LittleEndian.AppendUint64(b, r.First)
		b = binary.LittleEndian.AppendUint64(b, r.Last)
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Through))
	}
	*buf = b
	h := xxh3.Hash128(b)
	return [2]uint64{h.Hi, h.Lo}
}

// itemsSum hashes what a snapshot holds, independently of the store's own digest.
func itemsSum(s *crdt.Snapshot) uint64 {
	h, key, sum := trace.Hash(1), "", uint64(0)
	for it := range s.Items() {
		if it.Key != key {
			key, sum = it.Key, xxh3.HashString(it.Key)
		}
		h.Fold(sum, uint64(it.Dot.Origin), it.Dot.Seq, xxh3.HashString(it.Path), xxh3.HashString(it.Payload))
	}
	return uint64(h) | 1
}
