package runloop

import "testing"

// A node that floods a machine crowds out only itself; strangers share what there is for them.
func TestIntakeIsShared(t *testing.T) {
	lost := 0
	i := NewAdmission(func(node uint64) bool { return node == 1 || node == 2 }, func() { lost++ })
	var held []Permit
	fill := func(from func(int) uint64) (got int) {
		for k := range 2 * memberShare.messages {
			if p, ok := i.Admit(from(k), 10); ok {
				held = append(held, p)
				got++
			}
		}
		return got
	}
	if got := fill(func(k int) uint64 { return uint64(100 + k) }); got != strangersShare.messages {
		t.Errorf("strangers have %d messages waiting", got)
	}
	for _, id := range []uint64{1, 2} {
		if got := fill(func(int) uint64 { return id }); got != memberShare.messages {
			t.Errorf("a member has %d messages waiting", got)
		}
	}
	if want := 4*memberShare.messages - strangersShare.messages; lost != want {
		t.Errorf("%d were counted, %d given up", lost, want)
	}
	for _, p := range held {
		p.Release()
	}
	if i.strangers != (share{}) || len(i.waiting) != 0 {
		t.Errorf("%d and %v still wait", i.strangers, i.waiting)
	}
	if _, ok := i.Admit(1, 10); !ok {
		t.Error("no room though nothing waits")
	}
}

// What waits is bounded in bytes, too, except one message that is larger than its share.
func TestIntakeCountsBytes(t *testing.T) {
	i := NewAdmission(func(node uint64) bool { return node == 1 }, func() {})
	for id, s := range map[uint64]share{1: memberShare, 2: strangersShare} { // order: neither looks at the other
		large, ok := i.Admit(id, s.bytes+1)
		if !ok {
			t.Errorf("node %d: one message finds no place", id)
		}
		if _, ok := i.Admit(id, 1); ok {
			t.Errorf("node %d: one more beside it finds a place", id)
		}
		large.Release()
		half, _ := i.Admit(id, s.bytes/2)
		if _, ok := i.Admit(id, s.bytes/2); !ok {
			t.Errorf("node %d: two halves of its share find no place", id)
		}
		if _, ok := i.Admit(id, 1); ok {
			t.Errorf("node %d: a byte above its share finds a place", id)
		}
		half.Release()
		if _, ok := i.Admit(id, 1); !ok {
			t.Errorf("node %d: no room though half is given back", id)
		}
	}
}
