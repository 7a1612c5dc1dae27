package downing_test

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// voters are members with the uids from 1 on, oldest first.
func voters(n int) (all []view.Member) {
	for i := range n {
		all = append(all, view.Member{UID: view.UID(i + 1)})
	}
	return all
}

// goesOn reports whether the voters with some uids may decide without the others.
func goesOn(s downing.Strategy, of []view.Member, side ...view.UID) bool {
	return s.Quorum(of, func(u view.UID) bool {
		for _, has := range side {
			if u == has {
				return true
			}
		}
		return false
	})
}

// A cluster of five is split. Which side goes on depends on the strategy, which all nodes have in
// ddata.Config.Downing.
func ExampleStrategy() {
	five := voters(5)
	for _, s := range []downing.Strategy{
		downing.KeepMajority{}, // the default
		downing.KeepOldest{},
		downing.StaticQuorum{Size: 3},
		downing.Manual{},
		downing.DownAll{},
	} {
		fmt.Println(s, goesOn(s, five, 1, 2), goesOn(s, five, 3, 4, 5), s.DropsUnreachable())
	}
	// Output:
	// keep-majority false true true
	// keep-oldest true false true
	// static-quorum 3 false true true
	// manual false true false
	// down-all false false true
}

// Two nodes and a lease outside of the cluster: the node that has the lease goes on. Beside ddata.Config.Downing it
// needs Leases, such as a directory of package locks/file.
func ExampleLeaseMajority() {
	s := downing.LeaseMajority{MinorityDelay: 2 * time.Second}
	fmt.Println(downing.CheckStrategy(s))
	two := voters(2)
	fmt.Println(goesOn(s, two, 2), goesOn(s, two, 2, downing.Arbiter), goesOn(s, two, 1, 2))
	// Output:
	// <nil>
	// false true true
}

// mostWeight is a strategy of one's own: the side with more than half of the weight goes on.
type mostWeight struct{ weight map[view.UID]int }

func (w mostWeight) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	side, all := 0, 0
	for _, m := range voters {
		all += 1 + w.weight[m.UID]
		if has(m.UID) {
			side += 1 + w.weight[m.UID]
		}
	}
	return 2*side > all
}

func (mostWeight) DropsUnreachable() bool { return true }
func (w mostWeight) String() string       { return fmt.Sprint("most-weight ", w.weight) }

// Two sets that may decide must have a member in common, so half of the weight is not enough.
func ExampleStrategy_own() {
	var s downing.Strategy = mostWeight{weight: map[view.UID]int{1: 2}}
	four := voters(4)
	fmt.Println(goesOn(s, four, 1, 2), goesOn(s, four, 3, 4), goesOn(s, four, 2, 3, 4))
	// Output: true false false
}
