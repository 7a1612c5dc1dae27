package downing

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Verdicts are what operators have said of members of the installed view: they are down. A verdict
// is irrevocable. The zero Verdicts is empty.
//
// Invariant: each is on a member of the view.
type Verdicts struct{ on map[view.UID]bool }

// Say notes the verdict on a member of the view.
func (s *Verdicts) Say(u view.UID) {
	if s.on == nil {
		s.on = make(map[view.UID]bool)
	}
	s.on[u] = true
}

// On reports whether a member is down by an operator's word.
func (s *Verdicts) On(u view.UID) bool { return s.on[u] }

// Empty reports whether there are none.
func (s *Verdicts) Empty() bool { return len(s.on) == 0 }

// List returns the members with a verdict, sorted, at most so many. The slice is the caller's.
func (s *Verdicts) List(most int) []view.UID {
	us := make([]view.UID, 0, len(s.on))
	for u := range s.on { // order: sorted below
		us = append(us, u)
	}
	slices.Sort(us)
	return us[:min(len(us), most)]
}

// Follow takes a view that was just installed.
func (s *Verdicts) Follow(v *view.View) {
	maps.DeleteFunc(s.on, func(u view.UID, _ bool) bool { return !v.Has(u) })
}

// Check verifies the invariant.
func (s *Verdicts) Check(v *view.View) error {
	for u := range s.on { // order: any that is wrong
		if !v.Has(u) {
			return fmt.Errorf("downed %v is no member", u)
		}
	}
	return nil
}
