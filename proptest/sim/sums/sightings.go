package sums

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
)

// Sightings are what replicas of one space of some data were seen to hold, by their clocks: those with equal clocks
// hold the same. The zero Sightings are empty.
type Sightings struct {
	at  map[[2]uint64]sighting // by the hash of the clock
	buf []byte
}

// sighting is what one replica held at a clock. There are very many: the collector does not look into them.
type sighting struct {
	who    uint64
	digest crdt.Digest
	items  uint64 // hash; 0: not taken
}

// Look takes what a replica holds: its clock, its digest and, unless that is nil, every item. It returns the replica
// that held something else at that clock, which may be the same, and what; "" if none did.
func (s *Sightings) Look(
	who uint64, clock *crdt.Clock, digest crdt.Digest, all *crdt.Snapshot,
) (other uint64, is string) {
	now := sighting{who: who, digest: digest}
	if all != nil {
		now.items = itemsSum(all)
	}
	if s.at == nil {
		s.at = map[[2]uint64]sighting{}
	}
	at := clockSum(clock, &s.buf)
	was, ok := s.at[at]
	switch {
	case ok && (was.digest != digest || all != nil && was.items != 0 && was.items != now.items):
		return was.who, fmt.Sprintf("digest %v items %x here, %v %x", digest, now.items, was.digest, was.items)
	case !ok || all != nil && was.items == 0:
		s.at[at] = now
	}
	return 0, ""
}
