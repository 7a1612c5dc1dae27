package crdt

import "slices"

// Living is the set of origins whose node-owned items are shown: the members of a view. It never
// changes; nil is every node.
type Living struct{ origins []Origin }

// NewLiving returns the set of these origins.
func NewLiving(origins ...Origin) *Living {
	all := slices.Clone(origins)
	slices.Sort(all)
	return &Living{origins: slices.Compact(all)}
}

// Has reports whether o is in the set.
func (l *Living) Has(o Origin) bool {
	if l == nil {
		return true
	}
	_, ok := slices.BinarySearch(l.origins, o)
	return ok
}

// SetLiving sets the origins whose node-owned items readers are shown from now on. It takes effect
// at once and without an event: items, clock and digest stay as they are, so that replicas with
// equal clocks stay equal. ch gets the keys that have an item of an origin that came or went.
// Snapshots and Readers taken before show what they showed.
func (s *Store) SetLiving(l *Living, ch *Changes) {
	s.snap = nil
	for _, key := range s.live.show(l) {
		ch.touchKey(key)
	}
	if s.merging != nil {
		s.merging.show(l)
	}
}
