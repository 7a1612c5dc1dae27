package sums

import (
	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Clock hashes a clock.
func Clock(c *crdt.Clock) [2]uint64 {
	h := [2]uint64{1, 2}
	for r := range c.Ranges() {
		for _, x := range [4]uint64{uint64(r.Origin), r.First, r.Last, uint64(r.Through)} {
			h[0] = random.Mix(h[0]*0x9e3779b97f4a7c15 + x)
			h[1] = random.Mix(h[1]*0xd1342543de82ef95 + x)
		}
	}
	return h
}

// Items hashes what a snapshot holds, independently of the store's own digest.
func Items(s *crdt.Snapshot) uint64 {
	h, key, sum := trace.Hash(1), "", uint64(0)
	for it := range s.Items() {
		if it.Key != key {
			key, sum = it.Key, xxh3.HashString(it.Key)
		}
		h.Fold(sum, uint64(it.Dot.Origin), it.Dot.Seq, xxh3.HashString(it.Path), xxh3.HashString(it.Payload))
	}
	return uint64(h) | 1
}
