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

// Shown is what a replica showed when it was looked at last, if that was right. The zero Shown is nothing.
type Shown struct {
	clock  [2]uint64 // hash
	digest crdt.Digest
}

// Look takes what a replica holds: its clock, its digest and, unless that is nil, every item. It says what another,
// or itself, held at that clock, if that was not the same; empty: it was. A digest that is there for a clock stays,
// so that a replica which shows the same as at the look before needs no search.
func (s *Sightings) Look(
	who uint64, last *Shown, clock *crdt.Clock, digest crdt.Digest, all *crdt.Snapshot,
) (other uint64, is string) {
	now, shown := sighting{who: who, digest: digest}, Shown{clockSum(clock, &s.buf), digest}
	if all != nil {
		now.items = itemsSum(all)
	} else if *last == shown {
		return 0, ""
	}
	if s.at == nil {
		s.at = map[[2]uint64]sighting{}
	}
	was, ok := s.at[shown.clock]
	switch {
	case ok && (was.digest != digest || all != nil && was.items != 0 && was.items != now.items):
		return was.who, fmt.Sprintf("digest %v items %x here, %v %x", digest, now.items, was.digest, was.items)
	case !ok || all != nil && was.items == 0:
		s.at[shown.clock] = now
	}
	*last = shown
	return 0, ""
}
