package retiring

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Usual is how many incarnations come between two retirements, unless there are more members.
const Usual = 64

// Scene is what a node knows when it composes the next view.
type Scene struct {
	Now       time.Time
	View      *view.View                // the installed one
	Next      *view.View                // the one that is composed, with its members; it is modified
	Settled   view.Epoch                // before it, all views are settled in every role
	Agreed    func(view.UID) view.Epoch // under which a member has said last that it has agreed
	Reachable func(view.UID) bool
	After     int // how many incarnations must have come
}

// End ends the retirement that is under way, if all members have agreed under the installed view. It
// reports whether it has. unasked has it end without their word, which is a defect.
func (s Scene) End(unasked bool) bool {
	if !s.View.Ages.Runs() {
		return false
	}
	if !unasked && (s.Settled < s.View.Epoch || len(Missing(s.View, s.Agreed)) > 0) {
		return false
	}
	s.Next.Ages = s.View.Ages.End(s.View.Epoch)
	return true
}

// Missing returns the members that have not agreed under a view. agreed says under which view a member has
// said last that it has.
func Missing(v *view.View, agreed func(view.UID) view.Epoch) (missing []view.Member) {
	for _, o := range v.Members {
		if len(o.Roles) > 0 && agreed(o.UID) != v.Epoch {
			missing = append(missing, o)
		}
	}
	return missing
}

// Count counts the members that have become full.
func (s Scene) Count() {
	switch more := s.Next.LastUp - s.View.LastUp; {
	case s.Next.Format < format.Ages:
	case s.Next.Ages == nil:
		s.Next.Ages = s.Next.Ages.Counting(s.Next.LastUp)
	case more > 0:
		s.Next.Ages = s.Next.Ages.Counting(more)
	}
}

// Begin begins a retirement, if one is due, and reports whether it has. It does so with a view in which a member
// comes up. In a rolling restart, no node is away then whose disk would miss it.
func (s Scene) Begin() bool {
	if s.View.Ages == nil || s.Next.LastUp == s.View.LastUp || s.View.Ages.Runs() || s.Next.Format < format.Ages ||
		int(s.Next.Ages.Came) < max(s.After, len(s.Next.Members)) || !s.isCalm() {
		return false
	}
	ages, ok := s.Next.Ages.Begin(s.Now, s.Next.Members, s.Next.Moves)
	if ok {
		s.Next.Ages = ages
	}
	return ok
}

// isCalm reports whether no member joins or goes, and no keys move.
func (s Scene) isCalm() bool {
	return !s.Next.Closing && len(s.Next.Moving) == 0 && len(s.View.Moving) == 0 &&
		len(s.Next.Members) == len(s.View.Members) &&
		!slices.ContainsFunc(s.Next.Members, func(o view.Member) bool {
			return o.Status != view.Up || !s.View.Has(o.UID) || !s.Reachable(o.UID)
		})
}
