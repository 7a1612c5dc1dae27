package drive

import "testing"

// Whoever floods a machine crowds out nobody but himself; strangers share what there is for them.
func TestIntakeIsShared(t *testing.T) {
	lost := 0
	i := NewIntake(func(node uint64) bool { return node == 1 || node == 2 }, func() { lost++ })
	var held []Place
	fill := func(from func(int) uint64) (got int) {
		for k := range 2 * memberShare {
			if p, ok := i.Admit(from(k)); ok {
				held = append(held, p)
				got++
			}
		}
		return got
	}
	if got := fill(func(k int) uint64 { return uint64(100 + k) }); got != strangersShare {
		t.Errorf("strangers have %d messages waiting", got)
	}
	for _, id := range []uint64{1, 2} {
		if got := fill(func(int) uint64 { return id }); got != memberShare {
			t.Errorf("a member has %d messages waiting", got)
		}
	}
	if want := 2*memberShare - strangersShare + 2*memberShare; lost != want {
		t.Errorf("%d were counted, %d given up", lost, want)
	}
	for _, p := range held {
		p.Taken()
	}
	if i.strangers != 0 || len(i.waiting) != 0 {
		t.Errorf("%d and %v still wait", i.strangers, i.waiting)
	}
	if _, ok := i.Admit(1); !ok {
		t.Error("no room though nothing waits")
	}
}
