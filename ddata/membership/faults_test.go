package membership

import "testing"

// faults are the planted errors by name, and which worlds show them.
var faults = []struct {
	name  string
	fault Faults
}{
	{"NoPromise", Faults{NoPromise: true}},
	{"NoInstallPromise", Faults{NoInstallPromise: true}},
	{"NoFreeze", Faults{NoFreeze: true}},
	{"LeaseFromReply", Faults{LeaseFromReply: true}},
	{"DeadMeansRemoved", Faults{DeadMeansRemoved: true}},
	{"NoV1", Faults{NoV1: true}},
	{"NoV2", Faults{NoV2: true}},
}

// TestRandomWorldsFindFaults runs until a seed shows the fault.
func TestRandomWorldsFindFaults(t *testing.T) {
	for _, f := range faults {
		found := 0
		first := uint64(0)
		for seed := uint64(1); seed <= uint64(*seedsFlag); seed++ {
			cfg := timing(seed)
			cfg.Faults = f.fault
			c := newChaos(t, seed, cfg)
			c.play()
			if len(c.w.judge.faults) > 0 {
				found++
				if first == 0 {
					first = seed
					t.Logf("   %s", c.w.judge.faults[0])
				}
			}
		}
		t.Logf("%s: %d of %d, first %d", f.name, found, *seedsFlag, first)
	}
}
