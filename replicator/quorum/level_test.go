package quorum

import (
	"fmt"
	"testing"
)

// The reference's levels: min(N, max(N/2+1+additional, minCap)).
func TestLevelsFollowTheReferencesArithmetic(t *testing.T) {
	table := []struct{ n, majority, cap5, plus1 int }{
		{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 2, 3, 3}, {4, 3, 4, 4}, {5, 3, 5, 4}, {6, 4, 5, 5}, {7, 4, 5, 5},
		{8, 5, 5, 6}, {9, 5, 5, 6},
		{10, 6, 6, 7}, {11, 6, 6, 7}, {12, 7, 7, 8},
	}
	for _, r := range table {
		got := []int{
			Majority.Need(r.n), MajorityPlus(0, 5).Need(r.n), MajorityPlus(1, 0).Need(r.n), All.Need(r.n),
			Local.Need(r.n), To(4).Need(r.n),
		}
		want := []int{r.majority, r.cap5, r.plus1, r.n, 1, 4}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("of %d: %v, want %v", r.n, got, want)
		}
	}
	for _, r := range []struct{ k, minCap, n, want int }{
		{2, 0, 5, 5}, {2, 0, 8, 7}, {3, 0, 11, 9}, {1, 5, 9, 6}, {1, 7, 9, 7}, {1, 10, 9, 9},
	} {
		if got := MajorityPlus(r.k, r.minCap).Need(r.n); got != r.want {
			t.Errorf("MajorityPlus(%d,%d) of %d is %d, want %d", r.k, r.minCap, r.n, got, r.want)
		}
	}
	if To(1) != Local {
		t.Error("To(1) is not Local")
	}
	if s := To(-1).String(); s != "To(less than 1)" {
		t.Error(s)
	}
	if To(0).Valid() || To(-3).Valid() || !To(2).Valid() || !MajorityPlus(-1, -1).Valid() ||
		MajorityPlus(0, 1<<40).Need(3) != 3 {
		t.Error("bounds of the numbers")
	}
}

// A role has no voters as long as its only nodes are learners: nothing that all of these have is
// kept.
func TestNoLevelIsContentWithAViewWithoutVoters(t *testing.T) {
	for _, l := range []Level{Local, Majority, Linearizable, All, MajorityPlus(1, 2), MajorityPlus(0, 0), To(1)} {
		if l.Need(0) < 1 {
			t.Errorf("%v needs %d of no voters", l, l.Need(0))
		}
	}
}
