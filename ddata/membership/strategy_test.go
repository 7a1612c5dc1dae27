package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestStrategiesIntersect holds every strategy to its laws, for all sets of up to eight voters and several orders of
// uid and age: any two quorums intersect, the arbiter counted where there is one; what contains a quorum is one, all together are one, and what does not vote
// does not matter (membership §C.9, 8).
func TestStrategiesIntersect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range []Strategy{
		KeepMajority{}, KeepMajority{Role: "core"}, Manual{}, DownAll{},
		StaticQuorum{Size: 1}, StaticQuorum{Size: 2}, StaticQuorum{Size: 3}, StaticQuorum{Size: 5}, StaticQuorum{Size: 9},
		StaticQuorum{Size: 2, Role: "core"},
		KeepOldest{}, KeepOldest{DownIfAlone: true}, KeepOldest{Role: "core"}, KeepOldest{DownIfAlone: true, Role: "core"},
		LeaseMajority{}, LeaseMajority{Role: "core"},
	} {
		for n := 1; n <= 8; n++ {
			for range 4 {
				voters := make([]Member, n)
				for i, x := range rng.Perm(n) {
					voters[i] = Member{UID: UID(x + 1), UpNumber: uint32(i + 1)}
					if rng.IntN(2) == 0 {
						voters[i].Roles = []string{"core"}
					}
				}
				t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) { checkLaws(t, s, voters) })
			}
		}
	}
}

func checkLaws(t *testing.T, s Strategy, voters []Member) {
	n := len(voters) + 1 // and the arbiter
	quorum := make([]bool, 1<<n)
	for set := range quorum {
		in := func(u UID) bool { return int(u) >= n || set&(1<<u) != 0 } // strangers always agree
		quorum[set] = s.Quorum(voters, in)
	}
	if quorum[0] || !quorum[1<<n-1] {
		t.Fatalf("nobody %t, all %t", quorum[0], quorum[1<<n-1])
	}
	if quorum[1<<Arbiter] {
		t.Fatal("the arbiter alone decides")
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

// TestCappedVotersIntersect: whoever of up to eight members votes is told by the view alone, those are the oldest, and any two quorums of
// them intersect, whatever the cap and whoever else agrees.
func TestCappedVotersIntersect(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, s := range []Strategy{KeepMajority{}, KeepMajority{Role: "core"}, Manual{}, DownAll{}, StaticQuorum{Size: 3}, KeepOldest{}, KeepOldest{DownIfAlone: true}} {
		for n := 1; n <= 8; n++ {
			for limit := range n + 2 {
				v := &View{VotersMax: uint32(limit)}
				for i, x := range rng.Perm(n) {
					o := Member{UID: UID(i + 1), Status: Up, UpNumber: uint32(10*x + 1)}
					if rng.IntN(2) == 0 {
						o.Roles = []string{"core"}
					}
					v.Members = append(v.Members, o)
				}
				v.Members = append(v.Members, Member{UID: UID(n + 1), Status: Joining})
				checkCapped(t, s, v)
			}
		}
	}
}

func checkCapped(t *testing.T, s Strategy, v *View) {
	voters, full := v.Voters(), v.Full()
	want := len(full)
	if v.VotersMax > 0 {
		want = min(want, int(v.VotersMax))
	}
	if !slices.EqualFunc(voters, full[:want], func(a, b Member) bool { return a.UID == b.UID }) {
		t.Fatalf("%d vote, want the %d oldest of %v", len(voters), want, full)
	}
	for a := range 1 << len(v.Members) {
		for b := range 1 << len(v.Members) {
			in := func(set int) func(UID) bool { return func(u UID) bool { return set>>(u-1)&1 == 1 } }
			if a&b == 0 && s.Quorum(voters, in(a)) && s.Quorum(voters, in(b)) {
				t.Fatalf("%v of %d: %b and %b are both quorums of %v", s, v.VotersMax, a, b, voters)
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

// TestStrategiesDecide: who goes on. Voters are named by age, a is the oldest; their uids run the other way.
func TestStrategiesDecide(t *testing.T) {
	type sides map[string]bool
	for _, c := range []struct {
		s      Strategy
		voters string // upper case: with the role
		want   sides
	}{
		{KeepMajority{Role: "core"}, "aBcDe", sides{"BD": true, "D": true, "aBce": false}},
		{KeepMajority{Role: "core"}, "abc", sides{"ab": true, "c": false}}, // nobody has the role: all count
		{StaticQuorum{Size: 3}, "abcde", sides{"abc": true, "cde": true, "ab": false}},
		{StaticQuorum{Size: 3}, "ab", sides{"ab": true, "a": false}},
		{StaticQuorum{Size: 3}, "abcdefg", sides{"abc": false, "abcd": true}},
		{KeepOldest{}, "abcde", sides{"a": true, "bcde": false}},
		{KeepOldest{DownIfAlone: true}, "abcde", sides{"a": false, "bcde": true, "ab": true, "cde": false}},
		{KeepOldest{DownIfAlone: true}, "ab", sides{"a": true, "b": false}},
		{KeepOldest{Role: "core"}, "abCd", sides{"C": true, "abd": false}},
		{LeaseMajority{}, "abcd", sides{"a*": true, "abcd": true, "abc": false, "*": false}},
		{LeaseMajority{Role: "core"}, "aBcD", sides{"a*": false, "B*": true, "BD": true, "B": false}},
		{DownAll{}, "abc", sides{"abc": true, "ab": false}},
	} {
		voters := make([]Member, len(c.voters))
		for i, x := range c.voters {
			voters[i] = Member{UID: UID(1000 - x), UpNumber: uint32(i + 1)}
			if unicode.IsUpper(x) {
				voters[i].Roles = []string{"core"}
			}
		}
		for side, want := range c.want { // order: each is judged by itself
			in := func(u UID) bool { // * is the arbiter
				return strings.ContainsRune(side, rune(1000-u)) || u == Arbiter && strings.Contains(side, "*")
			}
			if got := c.s.Quorum(voters, in); got != want {
				t.Errorf("%v: may %s of %s go on? %t", c.s, side, c.voters, got)
			}
		}
	}
}
