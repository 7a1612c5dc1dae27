package crdt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/coterie-go/coterie/crdt/iblt"
)

// Check recomputes everything that the store maintains and returns what differs. It costs a walk
// over items and log: for tests and the simulator.
func (s *Store) Check() error {
	if err := s.checkItems(); err != nil {
		return err
	}
	if err := s.checkMarks(); err != nil {
		return err
	}
	return s.checkLog()
}

func (s *Store) checkItems() error {
	var sum Digest
	items := 0
	var failed error
	s.keys.ascend("", func(ks *keyState) bool {
		failed = s.checkKeyState(ks)
		sum = sum.Plus(ks.digest)
		items += int(ks.items)
		return failed == nil
	})
	if failed == nil {
		failed = s.keys.check()
	}
	if failed != nil {
		return failed
	}
	if sum != s.digest || items != s.items {
		return fmt.Errorf("crdt: store counts %d items with digest %v, its keys %d with %v", s.items, s.digest, items, sum)
	}
	if n := s.index.count(); n != items {
		return fmt.Errorf("crdt: %d dots in the index, %d items", n, items)
	}
	return s.checkSketch()
}

func (s *Store) checkKeyState(ks *keyState) error {
	key, sum := ks.key, keyState{}
	var failed error
	var prev *Item
	paths, items := 0, 0
	ks.ascend("", func(it *Item) bool {
		sum.enter(it, s.Hash(it))
		if isFold(it) {
			sum.marking().folds++
			if !ks.anchored(it.Path) {
				sum.marks.orphans++
			}
		}
		items++
		if prev == nil || prev.Path != it.Path {
			paths++
		}
		switch {
		case it.Key != key:
			failed = fmt.Errorf("crdt: key %q holds item %v", key, it)
		case ks.kind != 0 && ks.kind != kindOf(it.Path):
			failed = fmt.Errorf("crdt: key %q is known to hold %v, and holds item %v", key, ks.kind, it)
		case !s.clock.Has(it.Dot):
			failed = fmt.Errorf("crdt: item %v is not in the clock", it)
		case s.index.get(it.Dot) != it:
			failed = fmt.Errorf("crdt: item %v is not in the index", it)
		case prev != nil && (prev.Path > it.Path || prev.Path == it.Path && prev.Dot.Compare(it.Dot) >= 0):
			failed = fmt.Errorf("crdt: item %v stands before %v", prev, it)
		}
		prev = it
		return failed == nil
	})
	switch {
	case failed != nil:
		return failed
	case items == 0 || items != int(ks.items) || paths != int(ks.paths):
		return fmt.Errorf("crdt: key %q counts %d items at %d paths, has %d at %d", key, ks.items, ks.paths, items, paths)
	case sum.bytes != ks.bytes:
		return fmt.Errorf("crdt: key %q counts %d bytes, its items have %d", key, ks.bytes, sum.bytes)
	case sum.digest != ks.digest || !reflect.DeepEqual(sum.marks, ks.marks):
		return fmt.Errorf("crdt: key %q: digest %v and marks %+v, its items sum to %v and %+v", key, ks.digest, ks.marks, sum.digest, sum.marks)
	case ks.big != nil:
		if err := errors.Join(ks.big.firsts.check(), ks.big.rest.check()); err != nil {
			return fmt.Errorf("crdt: key %q: %w", key, err)
		}
	}
	return nil
}

// checkMarks holds what the store keeps of marks against those of its keys.
func (s *Store) checkMarks() error {
	deleted, owned := 0, 0
	var failed error
	s.keys.ascend("", func(ks *keyState) bool {
		if ks.marks == nil {
			if s.litter.Contains(ks.key) {
				failed = fmt.Errorf("crdt: plain key %q waits for a sweep", ks.key)
			}
			return failed == nil
		}
		if ks.isDeleted() {
			deleted++
		}
		owned += len(ks.marks.owners)
		failed = s.checkKeyMarks(ks.key, ks)
		return failed == nil
	})
	for _, keys := range s.owned { // order: counts
		owned -= len(keys)
	}
	if failed == nil && (deleted != s.deleted || owned != 0) {
		failed = fmt.Errorf("crdt: %d keys are deleted forever, %d are counted; %d owners too many", deleted, s.deleted, owned)
	}
	return failed
}

func (s *Store) checkKeyMarks(key string, ks *keyState) error {
	m := ks.marks
	for _, w := range m.owners {
		if _, ok := s.owned[w.origin][key]; !ok {
			return fmt.Errorf("crdt: no index says that %v owns something in key %q", w.origin, key)
		}
	}
	hidden, _ := ks.hidden(s.living)
	litter := hidden > 0 && m.deleted == 0 || m.deleted > 0 && ks.items > 1
	if have := s.litter.Contains(key); litter != have {
		return fmt.Errorf("crdt: key %q holds %d hidden items of %d, to be swept: %v", key, hidden, ks.items, have)
	}
	return nil
}

// checkSketch makes the sketch anew.
func (s *Store) checkSketch() error {
	k := &s.sketch
	switch {
	case s.opt.SketchCells > 0 && s.items >= s.opt.SketchFrom && k.Sketch == nil:
		return fmt.Errorf("crdt: %d items and no sketch", s.items)
	case k.Sketch == nil:
		return nil
	case s.items < s.opt.SketchFrom/2:
		return fmt.Errorf("crdt: %d items and a sketch", s.items)
	}
	again := iblt.New(k.hash.key, k.Len())
	for it := range s.In(s.clock, Dot{}) {
		again.Toggle(k.hash.id(it.Dot))
	}
	if !slices.Equal(again.Cells(), k.Cells()) {
		return fmt.Errorf("crdt: the sketch is not that of the %d items", s.items)
	}
	return nil
}

func (s *Store) checkLog() error {
	var logged Clock
	events, bytes := 0, 0
	for i := range s.log.groups.len() {
		g := s.log.groups.at(i).group
		for i := range g {
			if !logged.Add(g[i].Dot) {
				return fmt.Errorf("crdt: event %v is in the log twice", g[i].Dot)
			}
			if s.floor.Has(g[i].Dot) {
				return fmt.Errorf("crdt: event %v is in the log and in the floor", g[i].Dot)
			}
		}
		events += len(g)
		if g != nil {
			bytes += g.size()
		}
	}
	logged.Join(&s.floor)
	if !logged.Equal(s.clock) {
		return fmt.Errorf("crdt: log and floor make %v, the clock is %v", &logged, s.clock)
	}
	refs := 0
	for _, ol := range s.log.origins {
		refs += ol.refs.len()
		for i := range ol.refs.len() {
			r := *ol.refs.at(i)
			if g := *s.log.at(r.pos); g == nil || g.First() != (Dot{ol.origin, r.first}) || g.Last().Seq != r.last() {
				return fmt.Errorf("crdt: log of %v: no group %d-%d at position %d", ol.origin, r.first, r.last(), r.pos)
			}
		}
	}
	if events != s.log.events || bytes != s.log.bytes || refs > s.log.groups.len() {
		return fmt.Errorf("crdt: log counts %d events of %d bytes, has %d of %d", s.log.events, s.log.bytes, events, bytes)
	}
	return nil
}

func (x *dotIndex) count() int {
	n := 0
	for i := range x.rows {
		n += x.rows[i].root.count(x.rows[i].levels)
	}
	return n
}

func (n *dotNode) count(level uint) int {
	if level == 0 {
		return len(n.items)
	}
	sum := 0
	for _, k := range n.kids {
		sum += k.count(level - 1)
	}
	return sum
}
