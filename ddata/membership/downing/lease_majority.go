package downing

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Arbiter is the uid under which a Strategy is asked for the vote of an external arbiter. It is no
// node's.
const Arbiter view.UID = 0

// LeaseMajority lets the side go on that holds a lease outside of the cluster, even if it is the
// smaller one. The arbiter's vote and that of one voter decide; without the arbiter all voters do.
// The smaller side waits before it tries, so that the larger one gets the lease if it is there to
// take it. While the arbiter cannot be reached, no member can be removed unless it agrees.
type LeaseMajority struct {
	Role string // as in KeepMajority: voters without it never hold the lease
	// MinorityDelay is how long a side with less than half of the voters waits before it tries for
	// the lease. Default 0: two heartbeats.
	MinorityDelay time.Duration
}

var _ Strategy = LeaseMajority{}

// Quorum accepts the arbiter with any voter, and all voters.
func (s LeaseMajority) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	voters = ofRole(voters, s.Role)
	n := count(voters, has)
	return n > 0 && (n == len(voters) || has(Arbiter))
}

// Counting returns the voters whose vote makes a quorum with the arbiter's, oldest first.
func (s LeaseMajority) Counting(voters []view.Member) []view.Member { return ofRole(voters, s.Role) }

// DropsUnreachable reports true.
func (LeaseMajority) DropsUnreachable() bool { return true }

// String names the strategy and its role.
func (s LeaseMajority) String() string { return "lease-majority" + inRole(s.Role) }
