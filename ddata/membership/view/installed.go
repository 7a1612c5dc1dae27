package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Installed is a view that a node has installed, with what follows from it, computed once.
//
// Invariants: Digest is the hash of View. Voters are those of View, oldest first. Capped is set if
// there are full members that do not vote. A node replaces it as a whole by the next one.
type Installed struct {
	*View
	Digest Hash
	Voters []Member
	Capped bool
	At     time.Time // when it was installed

	sealed seal // of all this, as it was installed
}

// Install returns a view as it is installed at now.
func Install(v *View, now time.Time) *Installed {
	i := &Installed{View: v, Digest: v.Hash(), Voters: v.Voters(), Capped: v.capped(), At: now}
	i.sealed = i.seal()
	return i
}

// IsVoter reports whether a member decides what comes after the view.
func (i *Installed) IsVoter(u UID) bool {
	o, ok := i.Member(u)
	return ok && i.Votes(o)
}

// Votes reports whether a member, as the view lists it, decides what comes after the view.
func (i *Installed) Votes(o Member) bool {
	if !i.Capped {
		return o.Full()
	}
	_, found := slices.BinarySearchFunc(i.Voters, o.UpNumber, func(v Member, n uint32) int {
		return cmp.Compare(v.UpNumber, n)
	})
	return found
}

// Addr returns the address of a member.
func (i *Installed) Addr(u UID) string {
	o, _ := i.Member(u)
	return o.Addr
}

// MayHoldLease reports whether a member can have held a lease. A member that is Joining never held
// one in this cluster.
func (i *Installed) MayHoldLease(u UID) bool {
	o, ok := i.Member(u)
	return ok && o.Status != Joining
}

// Check verifies that the view was not modified since the node installed it.
func (i *Installed) Check() error {
	if i.sealed != i.seal() {
		return errors.New("the installed view was modified")
	}
	return nil
}

// CheckNew verifies that the node that has installed the view is in it, holds the view to its bounds, and
// verifies the invariants. They hold as long as Check finds nothing.
func (i *Installed) CheckNew(self UID) error {
	if !i.Has(self) {
		return errors.New("this node is not in its view")
	}
	if i.Digest != i.Hash() {
		return errors.New("the digest is not that of the installed view")
	}
	for n, v := range i.Voters {
		if n > 0 && i.Voters[n-1].UpNumber >= v.UpNumber {
			return fmt.Errorf("voters are not in the order of age at %v", v)
		}
	}
	return errors.Join(i.View.Check(), checkFormats(i.View))
}
