package nextview

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestSilencesDoNotWaitForEver: members fall silent one after another, each within a heartbeat of
// the one before. The first is not held up by more than one heartbeat.
func TestSilencesDoNotWaitForEver(t *testing.T) {
	const self, beat = 1, time.Second
	v := &view.View{}
	for u := range view.UID(9) {
		v.Members = append(v.Members, view.Member{UID: self + u})
	}
	first, i := time.Unix(1000, 0), 0
	c := &composer{Config: Config{Self: self, Beat: beat}, Scene: Scene{View: view.Install(v, time.Unix(0, 0))}}
	silent := func(o view.Member) removal {
		if o.UID == self {
			return removal{}
		}
		i++
		return removal{due: first.Add(time.Duration(i-1) * beat * 9 / 10), silent: true}
	}
	var dues []time.Duration
	for _, r := range c.removals(silent) {
		if !r.due.IsZero() {
			dues = append(dues, r.due.Sub(first))
		}
	}
	slices.Sort(dues)
	if len(dues) != 8 || dues[0] != beat*9/10 || dues[1] != dues[0] || dues[2] != 2*beat*9/10 ||
		dues[7] != 7*beat*9/10 {
		t.Errorf("due after the first silence: %v", dues)
	}
}
