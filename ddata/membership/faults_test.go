package membership

import (
	"flag"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/downing"
)

var huntFlag = flag.Int("hunt", 0, "count how many of so many random worlds show each planted error")

// hunted are the planted errors. Random worlds show the first ones soon; the others are for
// TestScripts.
var hunted = []struct {
	name  string
	fault Faults
	soon  bool
}{
	{"DeadMeansRemoved", Faults{DeadMeansRemoved: true}, true},
	{"NoPromise", Faults{NoPromise: true}, true},
	{"MoveUnasked", Faults{MoveUnasked: true}, true},
	{"LeaseFromReply", Faults{LeaseFromReply: true}, false},
	{"NoInstallPromise", Faults{NoInstallPromise: true}, false},
	{"NoFreeze", Faults{NoFreeze: true}, false},
	{"NoV1", Faults{NoV1: true}, false},
	{"NoV2", Faults{NoV2: true}, false},
}

// TestRandomWorldsNoticeFaults holds the random worlds to finding what they can find.
func TestRandomWorldsNoticeFaults(t *testing.T) {
	for _, h := range hunted {
		if *huntFlag == 0 && !h.soon {
			continue
		}
		worlds, found, first := max(*huntFlag, 40), 0, 0
		for seed := 1; seed <= worlds && (found == 0 || *huntFlag > 0); seed++ {
			cfg := timing(uint64(seed))
			reckless := cfg.Faults.AnyTiming
			cfg.Faults = h.fault
			cfg.Faults.AnyTiming = reckless
			c := newChaos(t, uint64(seed), cfg)
			c.play()
			if len(c.w.checker.faults) == 0 {
				continue
			}
			if found++; first == 0 {
				first = seed
				t.Logf("%s, seed %d: %s", h.name, seed, c.w.checker.faults[0])
			}
		}
		if *huntFlag > 0 {
			t.Logf("%s: shown by %d of %d worlds", h.name, found, worlds)
		}
		if h.soon && found == 0 {
			t.Errorf("%s: not noticed in %d worlds", h.name, worlds)
		}
	}
}

// third is no strategy: two thirds of the voters can go on without each other.
type third struct{ downing.KeepMajority }

// Quorum accepts any third.
func (third) Quorum(voters []Member, has func(UID) bool) bool {
	n := 0
	for _, v := range voters {
		if has(v.UID) {
			n++
		}
	}
	return 3*n >= len(voters)
}

// TestRandomWorldsNoticeQuorumsThatDoNotIntersect (§C.8): the laws of Strategy are what everything
// rests on.
func TestRandomWorldsNoticeQuorumsThatDoNotIntersect(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		cfg := timing(seed)
		cfg.Strategy = third{}
		c := newChaos(t, seed, cfg)
		c.play()
		if len(c.w.checker.faults) > 0 {
			t.Logf("seed %d: %s", seed, c.w.checker.faults[0])
			return
		}
	}
	t.Error("not noticed in 40 worlds")
}
