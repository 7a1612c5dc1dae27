package downing

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestStrategiesIntersect holds every strategy to its laws, for all sets of up to eight voters,
// whichever of them has the lowest uid and whichever have the role. Any two quorums intersect, the
// arbiter counted where there is one. What contains a quorum is one, all together are one, and what
// does not vote does not matter (membership §C.9, 8). Nothing else of voters can matter. Their
// order is that of age. Only KeepMajority and Manual ask for uids: for the lowest of the voters
// that count.
func TestStrategiesIntersect(t *testing.T) {
	for _, s := range []Strategy{
		KeepMajority{}, KeepMajority{Role: "core"}, Manual{}, DownAll{},
		StaticQuorum{Size: 1}, StaticQuorum{Size: 2}, StaticQuorum{Size: 3},
		StaticQuorum{Size: 5}, StaticQuorum{Size: 9},
		StaticQuorum{Size: 2, Role: "core"},
		KeepOldest{}, KeepOldest{DownIfAlone: true}, KeepOldest{Role: "core"},
		KeepOldest{DownIfAlone: true, Role: "core"},
		LeaseMajority{}, LeaseMajority{Role: "core"},
	} {
		t.Run(s.String(), func(t *testing.T) {
			roles := strings.HasSuffix(s.String(), " of core")
			_, manual := s.(Manual)
			_, majority := s.(KeepMajority)
			byUID := manual || majority
			for n := 1; n <= 8; n++ {
				for core := range 1 << n {
					if core > 0 && !roles {
						break
					}
					for lowest := range n {
						if lowest > 0 && !byUID || core > 0 && byUID && core>>lowest&1 == 0 {
							continue
						}
						checkLaws(t, s, electorate(n, lowest, core))
					}
				}
			}
		})
	}
}

// electorate is n voters, oldest first: the uids begin at the one that will be the lowest, and
// those of a set of bits have the role.
func electorate(n, lowest, core int) []view.Member {
	voters := make([]view.Member, n)
	for i := range voters {
		voters[i] = view.Member{UID: view.UID((i-lowest+n)%n + 1), Status: view.Up, UpNumber: uint32(i + 1)}
		if core>>i&1 == 1 {
			voters[i].Roles = []string{"core"}
		}
	}
	return voters
}

// checkLaws looks at all sets of voters, with the arbiter and without. As what contains a quorum is
// one, two that do not intersect would show in a quorum whose complement is one, too.
func checkLaws(t *testing.T, s Strategy, voters []view.Member) {
	n := len(voters) + 1 // and the arbiter
	quorum := make([]bool, 1<<n)
	for set := range quorum {
		in := func(u view.UID) bool { return int(u) >= n || set&(1<<u) != 0 } // strangers always agree
		quorum[set] = s.Quorum(voters, in)
	}
	all := len(quorum) - 1
	if quorum[0] || !quorum[all] {
		t.Fatalf("none %t, all %t", quorum[0], quorum[all])
	}
	if quorum[1<<Arbiter] {
		t.Fatal("the arbiter alone decides")
	}
	for a := range quorum {
		if !quorum[a] {
			continue
		}
		if quorum[all&^a] {
			t.Fatalf("%08b and %08b are both quorums of %v", a, all&^a, voters)
		}
		for more := range n {
			if !quorum[a|1<<more] {
				t.Fatalf("%08b is a quorum of %v, %08b is not", a, voters, a|1<<more)
			}
		}
	}
}

// TestCappedVotersIntersect: the view alone says which of up to eight members vote, and those are
// the oldest. Any two quorums of them intersect, whatever the cap and whatever other members agree.
// The arbiter is on one side at most.
func TestCappedVotersIntersect(t *testing.T) {
	for _, s := range []Strategy{
		KeepMajority{}, KeepMajority{Role: "core"}, Manual{}, DownAll{}, StaticQuorum{Size: 3}, KeepOldest{},
		KeepOldest{DownIfAlone: true},
		LeaseMajority{}, LeaseMajority{Role: "core"},
	} {
		for n := 1; n <= 8; n++ {
			for limit := range n + 2 {
				for lowest := range n {
					// some have the role; TestStrategiesIntersect has all sets
					core := (limit*37 + lowest*11 + n) & (1<<n - 1)
					v := &view.View{VotersMax: uint32(limit), Members: electorate(n, lowest, core)}
					slices.SortFunc(v.Members, func(a, b view.Member) int { return cmp.Compare(a.UID, b.UID) })
					v.Members = append(v.Members, view.Member{UID: view.UID(n + 1), Status: view.Joining})
					checkCapped(t, s, v)
				}
			}
		}
	}
}

func checkCapped(t *testing.T, s Strategy, v *view.View) {
	voters, full := v.Voters(), v.Full()
	want := len(full)
	if v.VotersMax > 0 {
		want = min(want, int(v.VotersMax))
	}
	if !slices.EqualFunc(voters, full[:want], func(a, b view.Member) bool { return a.UID == b.UID }) {
		t.Fatalf("%d vote, want the %d oldest of %v", len(voters), want, full)
	}
	n := len(v.Members) + 1 // and the arbiter
	quorum := make([]bool, 1<<n)
	for set := range quorum {
		quorum[set] = s.Quorum(voters, func(u view.UID) bool { return set>>u&1 == 1 })
	}
	for a := range quorum {
		if b := len(quorum) - 1 - a; quorum[a] && quorum[b] {
			t.Fatalf("%v of %d: %b and %b are both quorums of %v", s, v.VotersMax, a, b, voters)
		}
	}
}

// TestKeepMajorityTie: of two equal halves exactly the one with the lowest uid may go on.
func TestKeepMajorityTie(t *testing.T) {
	voters := []view.Member{{UID: 9, UpNumber: 1}, {UID: 2, UpNumber: 2}, {UID: 7, UpNumber: 3}, {UID: 4, UpNumber: 4}}
	in := func(us ...view.UID) func(view.UID) bool {
		set := make(map[view.UID]bool)
		for _, u := range us {
			set[u] = true
		}
		return func(u view.UID) bool { return set[u] }
	}
	if !(KeepMajority{}).Quorum(voters, in(2, 7)) || (KeepMajority{}).Quorum(voters, in(9, 4)) {
		t.Error("the half with the lowest uid decides, the other does not")
	}
}

// TestStrategiesDecide: which side goes on. Voters are named by age, a is the oldest; their uids
// run the other way.
func TestStrategiesDecide(t *testing.T) {
	type sides map[string]bool
	for _, c := range []struct {
		s      Strategy
		voters string // upper case: with the role
		want   sides
	}{
		{KeepMajority{Role: "core"}, "aBcDe", sides{"BD": true, "D": true, "aBce": false}},
		{KeepMajority{Role: "core"}, "abc", sides{"ab": true, "c": false}}, // no voter has the role: all count
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
		voters := make([]view.Member, len(c.voters))
		for i, x := range c.voters {
			voters[i] = view.Member{UID: view.UID(1000 - x), UpNumber: uint32(i + 1)}
			if unicode.IsUpper(x) {
				voters[i].Roles = []string{"core"}
			}
		}
		for side, want := range c.want { // order: each is judged by itself
			in := func(u view.UID) bool { // * is the arbiter
				return strings.ContainsRune(side, rune(1000-u)) || u == Arbiter && strings.Contains(side, "*")
			}
			if got := c.s.Quorum(voters, in); got != want {
				t.Errorf("%v: may %s of %s go on? %t", c.s, side, c.voters, got)
			}
		}
	}
}
