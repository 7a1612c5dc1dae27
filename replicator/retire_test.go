package replicator

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/defect"
)

// runRetirements plays a world and says what failed.
func runRetirements(seed uint64, f defect.Set, trusts bool, steps int) (w *retireWorld, err error) {
	w = newRetireWorld(seed, f)
	w.trusts = trusts
	return w, failing(func() {
		for range steps {
			w.act()
		}
		w.heal()
	})
}

// R16: that origins retire changes nothing of what any member shows, in either space. This holds
// when any node crashes, is cut off, is dropped or joins, with a disk of before or a copy of one.
func TestRetirementsChangeNothing(t *testing.T) {
	closed, stale := 0, 0
	for seed := range uint64(8) {
		w, err := runRetirements(seed, defect.Set{}, false, 1500)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		closed, stale = closed+w.closed, stale+w.stale
	}
	if t.Logf("%d retirements, %d disks refused", closed, stale); closed < 20 || stale < 4 {
		t.Fatalf("no more than %d retirements, and %d disks that were refused", closed, stale)
	}
}

func TestRetirementsWithoutAskingAreNoticed(t *testing.T) {
	for seed := range uint64(60) {
		if _, err := runRetirements(seed, defect.Of(defect.RetireUnasked), false, 1500); err != nil {
			t.Logf("seed %d: %.200v", seed, err)
			return
		}
	}
	t.Fatal("no world noticed the fault")
}

// An outdated disk that is used all the same brings back what was removed, or makes members differ.
func TestOutdatedDisksThatAreUsedAreNoticed(t *testing.T) {
	for seed := uint64(17); seed < 120; seed++ { // before it nothing shows
		if _, err := runRetirements(seed, defect.Set{}, true, 1500); err != nil {
			t.Logf("seed %d: %.200v", seed, err)
			return
		}
	}
	t.Fatal("no world noticed the fault")
}
