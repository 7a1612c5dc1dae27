package nodelease

import (
	"fmt"
	"maps"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Promises are what this node owes to the other members of its view.
//
// Invariant: it has promises to other members of the installed view only.
type Promises struct {
	until    map[view.UID]time.Time // G1, G3: no view without the member is accepted here before
	heldBack map[view.UID]time.Time // V2: the member is granted nothing before
}

// NewPromises returns no promises.
func NewPromises() *Promises {
	return &Promises{until: make(map[view.UID]time.Time), heldBack: make(map[view.UID]time.Time)}
}

// Follow takes a view that was just installed. Promises outlive an epoch, and what is held back belongs
// to one.
func (p *Promises) Follow(v *view.View) {
	maps.DeleteFunc(p.until, func(u view.UID, _ time.Time) bool { return !v.Has(u) })
	clear(p.heldBack)
}

// Make promises a member that no view without it is accepted here before until. It shortens no
// promise.
func (p *Promises) Make(u view.UID, until time.Time) {
	if until.After(p.until[u]) {
		p.until[u] = until
	}
}

// Until is when the promise to a member runs out; zero = there is none.
func (p *Promises) Until(u view.UID) time.Time { return p.until[u] }

// HoldBack grants a member nothing before until.
func (p *Promises) HoldBack(u view.UID, until time.Time) { p.heldBack[u] = until }

// HoldsBack reports whether a member is granted nothing now.
func (p *Promises) HoldsBack(u view.UID, now time.Time) bool { return now.Before(p.heldBack[u]) }

// Check verifies that no promise runs for longer than most.
func (p *Promises) Check(v *view.View, most time.Time) error {
	for u, t := range p.until { // order: any that is wrong
		if !v.Has(u) || t.After(most) {
			return fmt.Errorf("a promise to %v beyond L, or beyond its membership", u)
		}
	}
	return nil
}
