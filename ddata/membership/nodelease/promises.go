package nodelease

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Promises are what this node owes to the other members of its view. The zero value has none.
//
// Invariant: it has promises to other members of the installed view only.
type Promises struct {
	until    byMember[time.Time] // G1, G3: no view without the member is accepted here before
	heldBack byMember[time.Time] // V2: the member is granted nothing before
}

// Follow takes a view that was just installed. Promises outlive an epoch, and what is held back belongs
// to one.
func (p *Promises) Follow(v *view.View) {
	p.until.keep(v.Has)
	p.heldBack.clear()
}

// Make promises a member that no view without it is accepted here before until. It shortens no
// promise.
func (p *Promises) Make(u view.UID, until time.Time) {
	if until.After(p.until.get(u)) {
		p.until.set(u, until)
	}
}

// Until is when the promise to a member runs out; zero = there is none.
func (p *Promises) Until(u view.UID) time.Time { return p.until.get(u) }

// HoldBack grants a member nothing before until.
func (p *Promises) HoldBack(u view.UID, until time.Time) { p.heldBack.set(u, until) }

// HoldsBack reports whether a member is granted nothing now.
func (p *Promises) HoldsBack(u view.UID, now time.Time) bool { return now.Before(p.heldBack.get(u)) }

// Check verifies that no promise runs for longer than most.
func (p *Promises) Check(v *view.View, most time.Time) error {
	rest := v.Members // in the order of their uids, as the promises are
	for i, u := range p.until.uids {
		for len(rest) > 0 && rest[0].UID < u {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].UID != u || p.until.of[i].After(most) {
			return fmt.Errorf("a promise to %v beyond L, or beyond its membership", u)
		}
	}
	return nil
}
