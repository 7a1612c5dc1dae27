package defect

import "testing"

type planted = Set

// config is as the configurations of the machines are.
type config struct{ planted }

func TestSets(t *testing.T) {
	var c config
	for d := range end {
		if c.Planted(d) {
			t.Errorf("defect %d is planted by nothing", d)
		}
	}
	c.Plant(Of(NoFence, DropLosingSibling))
	c.Plant(Of(Unwoken))
	for d := range end {
		if want := d == NoFence || d == DropLosingSibling || d == Unwoken; c.Planted(d) != want {
			t.Errorf("defect %d: %v, want %v", d, c.Planted(d), want)
		}
	}
}
