package membership

import (
	"flag"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

var huntFlag = flag.Int("hunt", 0, "count how many of so many random worlds show each planted defect")

// hunted are the planted defects. Random worlds show the first ones soon; the others are for
// TestScripts.
var hunted = []struct {
	name    string
	defects Defects
	soon    bool
}{
	{"DeadMeansRemoved", Defects{DeadMeansRemoved: true}, true},
	{"NoPromise", Defects{NoPromise: true}, true},
	{"MoveUnasked", Defects{MoveUnasked: true}, true},
	{"LeaseFromReply", Defects{LeaseFromReply: true}, false},
	{"NoInstallPromise", Defects{NoInstallPromise: true}, false},
	{"NoFreeze", Defects{NoFreeze: true}, false},
	{"NoV1", Defects{NoV1: true}, false},
	{"NoV2", Defects{NoV2: true}, false},
}

// TestRandomWorldsNoticeDefects holds the random worlds to finding what they can find.
func TestRandomWorldsNoticeDefects(t *testing.T) {
	for _, h := range hunted {
		if *huntFlag == 0 && !h.soon {
			continue
		}
		worlds, found, first := max(*huntFlag, 40), 0, 0
		for seed := 1; seed <= worlds && (found == 0 || *huntFlag > 0); seed++ {
			cfg := timing(uint64(seed))
			reckless := cfg.Defects.AnyTiming
			cfg.Defects = h.defects
			cfg.Defects.AnyTiming = reckless
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
func (third) Quorum(voters []view.Member, has func(view.UID) bool) bool {
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
