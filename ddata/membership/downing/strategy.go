package downing

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Strategy is a downing strategy, put as a quorum rule over the voters of a committed view.
// Whatever side of a partition can still gather a quorum decides the next view, and no other side
// can.
//
// Laws, which every implementation is tested for: any two sets that are quorums of the same voters
// intersect; a set that contains a quorum is one; all voters together are one; the answer depends
// on the arguments alone. All members must run the same strategy: its String is part of the
// configuration hash.
type Strategy interface {
	// Quorum reports whether the voters for which has is true may decide. Voters come oldest first.
	// A strategy with an arbiter also asks has for Arbiter.
	Quorum(voters []view.Member, has func(view.UID) bool) bool
	// DropsUnreachable reports whether members that stay unreachable are removed without an
	// operator.
	DropsUnreachable() bool
	// String names the strategy and its parameters.
	String() string
}

// CheckStrategy reports the parameters of a strategy of this package that it could not decide by.
// nil is no fault: it stands for the default.
func CheckStrategy(s Strategy) error {
	switch s := s.(type) {
	case StaticQuorum:
		if s.Size < 1 {
			return fmt.Errorf("StaticQuorum.Size %d is not positive: set it to more than half of the members", s.Size)
		}
	case LeaseMajority:
		if s.MinorityDelay < 0 {
			return fmt.Errorf("LeaseMajority.MinorityDelay %v is negative", s.MinorityDelay)
		}
	case *KeepMajority, *Manual, *StaticQuorum, *KeepOldest, *DownAll, *LeaseMajority:
		return fmt.Errorf("it is a pointer (%T): give the value", s)
	}
	return nil
}

// KeepMajority lets the larger side go on; of two equal sides the one with the lowest uid.
type KeepMajority struct {
	// Role, if set, lets only the voters with that role count, as long as there is one. Default
	// all.
	Role string
}

// Manual decides like KeepMajority but drops an unreachable member only when an operator said Down.
type Manual struct{}

// StaticQuorum lets the side with at least Size voters go on. It is for clusters of a fixed size:
// choose more than half of it. With fewer voters than Size, as while the cluster forms, all of them
// have to agree; with more than 2*Size-1 it takes more than half, for two sides could have Size.
type StaticQuorum struct {
	Size int    // at least 1
	Role string // as in KeepMajority
}

// KeepOldest lets the side with the oldest voter go on, even if it is the smaller one: what runs as
// a singleton is not moved. When the oldest crashes, no member can decide any more and all end,
// unless DownIfAlone is set.
type KeepOldest struct {
	// DownIfAlone makes the oldest yield when all others are on the other side, and at least two.
	DownIfAlone bool
	Role        string // as in KeepMajority: the oldest with that role counts
}

// DownAll lets no side go on: while any voter is unreachable nothing is decided, and all end after
// Config.SelfDownAfter. It suits an operator that would rather start everything anew than go on
// without a part.
type DownAll struct{}

var (
	_ Strategy = KeepMajority{}
	_ Strategy = Manual{}
	_ Strategy = StaticQuorum{}
	_ Strategy = KeepOldest{}
	_ Strategy = DownAll{}
)

// Quorum accepts more than half of the voters, or exactly half with the lowest uid among them.
func (s KeepMajority) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	return majority(ofRole(voters, s.Role), has)
}

// DropsUnreachable reports true.
func (KeepMajority) DropsUnreachable() bool { return true }

// String names the strategy and its role.
func (s KeepMajority) String() string { return "keep-majority" + inRole(s.Role) }

// Quorum accepts more than half of the voters, or exactly half with the lowest uid among them.
func (Manual) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	return majority(voters, has)
}

// DropsUnreachable reports false.
func (Manual) DropsUnreachable() bool { return false }

// String names the strategy.
func (Manual) String() string { return "manual" }

// Quorum accepts Size voters, all if there are fewer, and more than half if there are so many that
// Size is not.
func (s StaticQuorum) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	voters = ofRole(voters, s.Role)
	return len(voters) > 0 && count(voters, has) >= min(len(voters), max(s.Size, len(voters)/2+1))
}

// DropsUnreachable reports true.
func (StaticQuorum) DropsUnreachable() bool { return true }

// String names the strategy, its size and role.
func (s StaticQuorum) String() string {
	return fmt.Sprintf("static-quorum %d%s", s.Size, inRole(s.Role))
}

// Quorum accepts each set that has the oldest voter in it. With DownIfAlone, of three or more, the
// oldest needs one other, and all others together do without the oldest.
func (s KeepOldest) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	voters = ofRole(voters, s.Role)
	if len(voters) == 0 {
		return false
	}
	oldest := has(voters[0].UID)
	if n := len(voters); s.DownIfAlone && n > 2 {
		others := count(voters[1:], has)
		return oldest && others > 0 || others == n-1
	}
	return oldest
}

// DropsUnreachable reports true.
func (KeepOldest) DropsUnreachable() bool { return true }

// String names the strategy and what it was set to.
func (s KeepOldest) String() string {
	if s.DownIfAlone {
		return "keep-oldest down-if-alone" + inRole(s.Role)
	}
	return "keep-oldest" + inRole(s.Role)
}

// Quorum accepts all voters together.
func (DownAll) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	return len(voters) > 0 && count(voters, has) == len(voters)
}

// DropsUnreachable reports true.
func (DownAll) DropsUnreachable() bool { return true }

// String names the strategy.
func (DownAll) String() string { return "down-all" }

// ofRole returns the voters that count for a role: those that have it, all when none has.
func ofRole(voters []view.Member, role string) []view.Member {
	if role == "" {
		return voters
	}
	without := func(v view.Member) bool { return !v.HasRole(role) }
	if !slices.ContainsFunc(voters, without) {
		return voters
	}
	if of := slices.DeleteFunc(slices.Clone(voters), without); len(of) > 0 {
		return of
	}
	return voters
}

func inRole(role string) string {
	if role == "" {
		return ""
	}
	return " of " + role
}

func majority(voters []view.Member, has func(view.UID) bool) bool {
	if len(voters) == 0 {
		return false
	}
	lowest := voters[0].UID
	for i := range voters {
		lowest = min(lowest, voters[i].UID)
	}
	n := count(voters, has)
	return 2*n > len(voters) || 2*n == len(voters) && has(lowest)
}

func count(voters []view.Member, has func(view.UID) bool) (n int) {
	for i := range voters { // a member is large
		if has(voters[i].UID) {
			n++
		}
	}
	return n
}
