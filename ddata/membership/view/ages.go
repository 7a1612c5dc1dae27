package view

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
)

// SparedMax bounds the members that a Retirement spares, of each two in a view.
const SparedMax = 512

// Retirement names incarnations that are over: all whose UIDs are below a bound, except some. The zero
// value names none.
type Retirement struct {
	_      struct{} `cbor:",toarray"`
	Below  UID
	Spared []UID  // those that were members, sorted
	Moves  uint16 // View.Moves when it began
}

// Empty reports whether it names none.
func (r Retirement) Empty() bool { return r.Below == 0 }

// Names reports whether an incarnation is over.
func (r Retirement) Names(u UID) bool {
	_, spared := slices.BinarySearch(r.Spared, u)
	return u < r.Below && !spared
}

// String prints it in a few words.
func (r Retirement) String() string {
	return fmt.Sprintf("below %x but %d", uint64(r.Below>>uidRandom), len(r.Spared))
}

func (r Retirement) check(v *View) error {
	switch {
	case r.Empty() && (len(r.Spared) > 0 || r.Moves > 0):
		return errors.New("view: incarnations that end without a bound")
	case r.Moves > v.Moves:
		return errors.New("view: incarnations end after a move that was not begun")
	case len(r.Spared) > 0 && r.Spared[len(r.Spared)-1] >= r.Below:
		return errors.New("view: one is spared that is not below the bound")
	case slices.ContainsFunc(v.Members, func(m Member) bool { return r.Names(m.UID) }):
		return fmt.Errorf("view: a member is %v, and over", r)
	}
	return CheckSorted(r.Spared, SparedMax)
}

// Ages is what a view says of incarnations that are over. It is not modified once it was handed out. Nil
// stands for the zero value, in views below format.Ages.
//
// Invariants: Began is at least the bounds of Ended and Ending. What Ended names, Ending names too, if there
// is one. AgreedIn is 0 if Ended names none.
type Ages struct {
	_     struct{} `cbor:",toarray"`
	Came  uint32   // how many incarnations have become full members since a retirement began last
	Ended Retirement
	// AgreedIn is the epoch of the view under which all members have told that they have the same of
	// the incarnations that Ended names.
	AgreedIn Epoch
	Ending   Retirement // those of which they have to tell it now
	Began    UID        // the bound of the last retirement that was begun: no two have the same
}

// orNone returns the Ages, or the zero value.
func (a *Ages) orNone() Ages {
	if a == nil {
		return Ages{}
	}
	return *a
}

// Refuses says why an incarnation cannot be let in; empty: it can.
func (a *Ages) Refuses(u UID) string {
	if x := a.orNone(); !x.Ended.Names(u) && !x.Ending.Names(u) {
		return ""
	}
	return fmt.Sprintf("incarnations below %x have ended, and %v is one of them; the node draws another uid",
		uint64(a.Least()), u)
}

// Least is the bound below which no incarnation is let in.
func (a *Ages) Least() UID { x := a.orNone(); return max(x.Ended.Below, x.Ending.Below) }

// Over is the bound of the incarnations that have ended; 0: none have.
func (a *Ages) Over() UID { return a.orNone().Ended.Below }

// Agreed is the epoch under which the members agreed on the incarnations that are over; 0: they have not
// yet.
func (a *Ages) Agreed() Epoch { return a.orNone().AgreedIn }

// Runs reports whether a retirement is under way.
func (a *Ages) Runs() bool { return a != nil && !a.Ending.Empty() }

// Carried is what a founding anew takes over.
func (a *Ages) Carried() *Ages {
	if x := a.orNone(); x.AgreedIn > 0 || x.Came > 0 || x.Began > 0 {
		return &Ages{Came: x.Came, Ended: x.Ended, AgreedIn: x.AgreedIn, Began: x.Began}
	}
	return nil
}

// Check holds what is carried to its bounds.
func (a *Ages) Check() error {
	if a == nil {
		return nil
	}
	return a.check(&View{Epoch: a.AgreedIn + 1, Moves: MovesMax, Format: format.Ages})
}

func (a *Ages) check(v *View) error {
	switch {
	case a == nil:
		return nil
	case v.Format < format.Ages:
		return errors.New("view: incarnations end below the format level that has it")
	case a.Ended.Empty() != (a.AgreedIn == 0) || a.AgreedIn >= v.Epoch:
		return errors.New("view: incarnations have ended, and not by an earlier view")
	case !a.Ending.Empty() && a.Ending.Below <= a.Ended.Below:
		return errors.New("view: incarnations end that have ended")
	case a.Began < max(a.Ending.Below, a.Ended.Below):
		return errors.New("view: incarnations end or have ended, and it was not begun")
	}
	return errors.Join(a.Ended.check(v), a.Ending.check(v))
}

// String prints it; nothing if there is nothing to say.
func (a *Ages) String() string {
	x, s := a.orNone(), ""
	if !x.Ending.Empty() {
		s += fmt.Sprintf(" ending %v", x.Ending)
	}
	if !x.Ended.Empty() {
		s += fmt.Sprintf(" ended %v since %v", x.Ended, x.AgreedIn)
	}
	return s
}

// Counting returns the Ages after so many incarnations have become full members.
func (a *Ages) Counting(more uint32) *Ages {
	x := a.orNone()
	x.Came += min(more, ^uint32(0)-x.Came)
	return &x
}

// End returns the Ages after all members have told the same under a view.
func (a *Ages) End(agreedIn Epoch) *Ages {
	return &Ages{Came: a.Came, Ended: a.Ending, AgreedIn: agreedIn, Began: a.Began}
}

// Begin returns the Ages of a view with those members, sorted, that names as many incarnations as it can;
// false if that would not be more than have ended.
//
// The bound is some time ago, so that a node that is about to be let in is not named, as long as its
// clock is not far behind. It rises with each retirement, also when clocks do not.
func (a *Ages) Begin(now time.Time, members []Member, moves uint16) (*Ages, bool) {
	x := a.orNone()
	below := max(UIDsFrom(now.Add(-UIDUnit)), nextUnit(x.Began))
	if len(members) > SparedMax {
		below = min(below, members[SparedMax].UID&^(uidStep-1))
	}
	if below <= x.Began {
		return a, false
	}
	x.Came, x.Ending, x.Began = 0, Retirement{Below: below, Moves: moves}, below
	for _, m := range members {
		if m.UID < below {
			x.Ending.Spared = append(x.Ending.Spared, m.UID)
		}
	}
	return &x, true
}
