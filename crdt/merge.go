package crdt

import (
	"fmt"

	"github.com/coterie-go/coterie/proptest/defect"
)

// Merge joins the whole state of a donor; Apply takes single groups of events. All in one step, it
// drops own live items whose dots the donor's clock has and live denies, for the donor saw their
// removal. It inserts items whose dots the own current clock lacks, and joins the clocks. donor,
// live and items must come from one snapshot of the donor; items may leave out what this store has.
// What came this way is not in the log: the floor rises over it. The cost is that of a walk over
// the own items; MergeDiff spares it. An error changes nothing.
func (s *Store) Merge(donor *Clock, live func(Dot) bool, items []Item, ch *Changes) error {
	var absent []Dot
	s.live.keys.tree.Ascend("", func(ks keyItems) bool {
		ks.ascend("", func(it *Item) bool {
			if donor.Has(it.Dot) && !live(it.Dot) {
				absent = append(absent, it.Dot)
			}
			return true
		})
		return true
	})
	return s.MergeDiff(donor, absent, items, ch)
}

// MergeDiff is Merge for a caller that knows which own live dots are not live at the donor, as a
// reconciliation tells. Those that the donor's clock lacks stay.
func (s *Store) MergeDiff(donor *Clock, absent []Dot, items []Item, ch *Changes) error {
	for i := range items {
		if err := checkItem(&items[i], donor); err != nil {
			return err
		}
	}
	s.changing()
	if s.opt.Planted(defect.ClockBeforeItems) {
		s.cover(donor)
	}
	for i := range items {
		it := &items[i]
		if !s.clock.Has(it.Dot) && s.live.index.Get(it.Dot) == nil {
			s.live.insert(new(*it), nil, ch)
		}
	}
	for _, d := range absent {
		if it := s.live.index.Get(d); it != nil && donor.Has(d) {
			s.live.kill(it, ch)
		}
	}
	s.cover(donor)
	s.merging.again()
	return nil
}

// cover joins a clock whose events did not come through the log.
func (s *Store) cover(c *Clock) {
	s.log.floor.Join(c.Minus(s.clock))
	s.clock.Join(c)
}

// checkItem finds what is wrong with an item of a donor with the given clock.
func checkItem(it *Item, donor *Clock) error {
	if err := CheckKey(it.Key); err != nil {
		return err
	}
	return it.check(donor)
}

// check is checkItem for an item whose key has been looked at.
func (it *Item) check(donor *Clock) error {
	switch {
	case len(it.Path) > PathMax:
		return fmt.Errorf("%w: key %q: path of %d bytes, at most %d", ErrTooLarge, it.Key, len(it.Path), PathMax)
	case len(it.Payload) > PayloadMax:
		return fmt.Errorf("%w: key %q: payload of %d bytes, at most %d",
			ErrTooLarge, it.Key, len(it.Payload), PayloadMax)
	case !donor.Has(it.Dot):
		return fmt.Errorf("%w: key %q: item %v is not in its store's clock", ErrMalformed, it.Key, it.Dot)
	}
	return nil
}

// Union repairs equal clocks with different digests, which no correct run makes: it adds what is
// missing here and drops nothing, because it cannot be known which side lost an item. Items that
// are malformed or whose dots the clock lacks are left out.
func (s *Store) Union(items []Item, ch *Changes) {
	s.changing()
	for i := range items {
		it := &items[i]
		if checkItem(it, s.clock) == nil && s.live.index.Get(it.Dot) == nil {
			s.live.insert(new(*it), nil, ch)
		}
	}
	if s.opt.Planted(defect.UnionDrops) {
		s.dropOthers(items, ch)
	}
	s.merging.again()
}

// Yield drops the items of which another store has another at the same dot, which no correct run
// makes, where the hash of the other is lower: so two that yield to each other come to hold the
// same. It returns the others, for Union, and all that differ.
func (s *Store) Yield(items []Item, ch *Changes) (lower []Item, differ []Dot) {
	s.changing()
	for i := range items {
		it := &items[i]
		old := s.live.index.Get(it.Dot)
		same := old == nil || old.Key == it.Key && old.Path == it.Path && old.Payload == it.Payload
		if same || checkItem(it, s.clock) != nil {
			continue
		}
		differ = append(differ, it.Dot)
		if h, was := s.Hash(it), s.Hash(old); h[0] < was[0] || h[0] == was[0] && h[1] < was[1] {
			lower = append(lower, *it)
			s.live.kill(old, ch)
		}
	}
	s.merging.again()
	return lower, differ
}

// dropOthers is the defect UnionDrops.
func (s *Store) dropOthers(items []Item, ch *Changes) {
	theirs := make(map[Dot]struct{})
	for i := range items {
		theirs[items[i].Dot] = struct{}{}
	}
	for it := range s.Snapshot().Items() {
		if _, ok := theirs[it.Dot]; !ok {
			s.live.kill(it, ch)
		}
	}
}
