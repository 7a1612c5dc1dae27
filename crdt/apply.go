package crdt

import (
	"fmt"
	"unicode/utf8"

	"github.com/coterie-go/coterie/crdt/dots"
)

// Outcome says what Apply did with a well-formed group.
type Outcome uint8

// Outcomes of Apply.
const (
	Applied   Outcome = iota + 1 // its events are now part of the store
	Duplicate                    // all its dots were known: nothing happened
	Waiting                      // it removes dots that the clock lacks: nothing happened, Changes.Missing names them
)

func (o Outcome) String() string {
	if Applied <= o && o <= Waiting {
		return [...]string{"applied", "duplicate", "waiting"}[o-Applied]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Apply applies a group whole or not at all. It never drops an item by itself: concurrent puts at
// one path stay as siblings, so that the result does not depend on the order in which they and
// their removals come. A malformed group is an error that wraps ErrMalformed or ErrTooLarge and
// changes nothing. ch may be nil.
func (s *Store) Apply(g Group, ch *Changes) (Outcome, error) {
	outcome, err := look(s.clock, g, ch)
	if outcome == Applied {
		s.apply(g, ch)
	}
	return outcome, err
}

// look checks a group, and returns what Apply does with it in a store with this clock.
func look(clock *Clock, g Group, ch *Changes) (Outcome, error) {
	if err := checkGroup(g); err != nil {
		return 0, err
	}
	row := clock.Row(g[0].Dot.Origin)
	if row.HasRange(g[0].Dot.Seq, g.Last().Seq) {
		return Duplicate, nil
	}
	if g.waits(clock, row, ch) {
		return Waiting, nil
	}
	return Applied, nil
}

// checkGroup finds what no correct replica makes.
func checkGroup(g Group) error {
	if len(g) == 0 {
		return fmt.Errorf("%w: empty group", ErrMalformed)
	}
	if len(g) > EventsMax {
		return fmt.Errorf("%w: key %q: group of %d events, at most %d", ErrTooLarge, g[0].Key, len(g), EventsMax)
	}
	first := g[0].Dot
	if first.Seq == 0 || first.Seq > SeqMax-uint64(len(g)) {
		return fmt.Errorf("%w: group at dot %v", ErrMalformed, first)
	}
	for i := range g {
		e := &g[i]
		if e.Dot.Origin != first.Origin || e.Dot.Seq != first.Seq+uint64(i) {
			return fmt.Errorf("%w: dot %v is event %d of the group at %v", ErrMalformed, e.Dot, i, first)
		}
		if i == 0 || e.Key != g[i-1].Key {
			if err := CheckKey(e.Key); err != nil {
				return err
			}
		}
		if err := e.check(); err != nil {
			return err
		}
	}
	return nil
}

// check finds what is wrong with one event, its key aside.
func (e *Event) check() error {
	switch {
	case len(e.Path) > PathMax:
		return fmt.Errorf("%w: key %q: path of %d bytes, at most %d", ErrTooLarge, e.Key, len(e.Path), PathMax)
	case len(e.Payload) > PayloadMax:
		return fmt.Errorf("%w: key %q: payload of %d bytes, at most %d", ErrTooLarge, e.Key, len(e.Payload), PayloadMax)
	case len(e.Removes) > RemovesMax:
		return fmt.Errorf("%w: key %q: %d removed dots, at most %d", ErrTooLarge, e.Key, len(e.Removes), RemovesMax)
	case !e.Puts && e.Payload != "":
		return fmt.Errorf("%w: key %q: event %v has a payload and puts nothing", ErrMalformed, e.Key, e.Dot)
	}
	for _, d := range e.Removes {
		if d.Seq == 0 || d.Origin == e.Dot.Origin && d.Seq >= e.Dot.Seq && !d.IsMoved() {
			return fmt.Errorf("%w: key %q: event %v removes %v", ErrMalformed, e.Key, e.Dot, d)
		}
	}
	return nil
}

// CheckKey returns ErrKey, or ErrTooLarge, with the reason why key cannot name replicated data.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: empty", ErrKey)
	case len(key) > KeyMax:
		return fmt.Errorf("%w: key of %d bytes, at most %d", ErrTooLarge, len(key), KeyMax)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %q is not UTF-8", ErrKey, key)
	}
	return nil
}

// waits reports whether a new event of g removes a dot that is neither in the clock nor an earlier
// one of g, and names such dots. row is that of the group's origin.
func (g Group) waits(clock *Clock, row *dots.Row, ch *Changes) bool {
	first, wait := g[0].Dot, false
	for i := range g {
		e := &g[i]
		if len(e.Removes) == 0 || row.Has(e.Dot.Seq) {
			continue
		}
		for _, d := range e.Removes {
			if d.Origin == first.Origin && d.Seq >= first.Seq && !d.IsMoved() || clock.Has(d) {
				continue
			}
			wait = true
			if ch == nil {
				return true
			}
			if len(ch.Missing) < changesMissingMax {
				ch.Missing = append(ch.Missing, d)
			}
		}
	}
	return wait
}

// apply carries out a checked group. Events that a merge has already covered are left out: their
// effects are there, or were removed.
func (s *Store) apply(g Group, ch *Changes) {
	s.changing()
	if m := s.merging; m != nil && m.group != nil && m.group[0].Dot == g[0].Dot {
		m.Drop()
	}
	o, first, last := g[0].Dot.Origin, g[0].Dot.Seq, g.Last().Seq
	s.clock.Row(o).EachGap(first, last, func(a, b uint64) {
		s.log.push(g[a-first:b-first+1], func(e *Event) *Item {
			it := s.live.apply(e, ch)
			if s.merging != nil {
				s.merging.follow(e, it)
			}
			return it
		})
	})
	s.clock.AddRange(o, first, last)
}
