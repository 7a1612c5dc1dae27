package membership

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestStrategiesIntersect holds every strategy to its laws, for all sets of up to eight voters and several orders of
// uid and age: any two quorums intersect, what contains a quorum is one, all together are one, and what does not vote
// does not matter (membership §C.9, 8).
func TestStrategiesIntersect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range []Strategy{KeepMajority{}, Manual{}} {
		for n := 1; n <= 8; n++ {
			for range 4 {
				voters := make([]Member, n)
				for i, x := range rng.Perm(n) {
					voters[i] = Member{UID: UID(x + 1), UpNumber: uint32(i + 1)}
				}
				t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) { checkLaws(t, s, voters) })
			}
		}
	}
}

func checkLaws(t *testing.T, s Strategy, voters []Member) {
	n := len(voters)
	quorum := make([]bool, 1<<n)
	for set := range quorum {
		in := func(u UID) bool { return int(u) > n || set&(1<<(u-1)) != 0 } // strangers always agree
		quorum[set] = s.Quorum(voters, in)
	}
	if quorum[0] || !quorum[1<<n-1] {
		t.Fatalf("nobody %t, all %t", quorum[0], quorum[1<<n-1])
	}
	for a := range quorum {
		if !quorum[a] {
			continue
		}
		for b := range quorum {
			if quorum[b] && a&b == 0 {
				t.Fatalf("%08b and %08b are both quorums of %v", a, b, voters)
			}
			if a&b == a && !quorum[b] {
				t.Fatalf("%08b is a quorum of %v, %08b is not", a, voters, b)
			}
		}
	}
}

// TestKeepMajorityTie: of two equal halves exactly the one with the lowest uid may go on.
func TestKeepMajorityTie(t *testing.T) {
	voters := []Member{{UID: 9, UpNumber: 1}, {UID: 2, UpNumber: 2}, {UID: 7, UpNumber: 3}, {UID: 4, UpNumber: 4}}
	in := func(us ...UID) func(UID) bool {
		set := make(map[UID]bool)
		for _, u := range us {
			set[u] = true
		}
		return has(set)
	}
	if !(KeepMajority{}).Quorum(voters, in(2, 7)) || (KeepMajority{}).Quorum(voters, in(9, 4)) {
		t.Error("the half with the lowest uid decides, the other does not")
	}
}
