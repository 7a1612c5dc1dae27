package membership

// Strategy is a downing strategy, put as a quorum rule over the voters of a committed view. Whatever side of a
// partition can still gather a quorum decides the next view, and no other side can.
//
// Laws, which every implementation is tested for: any two sets that are quorums of the same voters intersect;
// a set that contains a quorum is one; all voters together are one; the answer depends on the arguments alone.
// All members must run the same strategy: its String is part of the configuration hash.
type Strategy interface {
	// Quorum says whether the voters for which has is true may decide. Voters come oldest first.
	Quorum(voters []Member, has func(UID) bool) bool
	// DropsUnreachable says whether members that stay unreachable are removed without an operator.
	DropsUnreachable() bool
	// String names the strategy and its parameters.
	String() string
}

// KeepMajority lets the larger side go on; of two equal sides the one with the lowest uid.
type KeepMajority struct{}

// Manual decides like KeepMajority but drops an unreachable member only when an operator said Down.
type Manual struct{}

var (
	_ Strategy = KeepMajority{}
	_ Strategy = Manual{}
)

// Quorum accepts more than half of the voters, or exactly half with the lowest uid among them.
func (KeepMajority) Quorum(voters []Member, has func(UID) bool) bool {
	return majority(voters, has)
}

// DropsUnreachable is true.
func (KeepMajority) DropsUnreachable() bool { return true }

// String names the strategy.
func (KeepMajority) String() string { return "keep-majority" }

// Quorum accepts more than half of the voters, or exactly half with the lowest uid among them.
func (Manual) Quorum(voters []Member, has func(UID) bool) bool {
	return majority(voters, has)
}

// DropsUnreachable is false.
func (Manual) DropsUnreachable() bool { return false }

// String names the strategy.
func (Manual) String() string { return "manual" }

func majority(voters []Member, has func(UID) bool) bool {
	if len(voters) == 0 {
		return false
	}
	count, lowest := 0, voters[0].UID
	for _, v := range voters {
		if has(v.UID) {
			count++
		}
		lowest = min(lowest, v.UID)
	}
	return 2*count > len(voters) || 2*count == len(voters) && has(lowest)
}
