package crdt

import "testing"

// A view of a key that is read again and again makes no garbage.
func TestViewsAllocateNothing(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	mustUpdate(t, r, "g", Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(7) }))
	mustUpdate(t, r, "pn", Mutate[PNCounter](func(c *PNCounterTx) error { return c.Increment(7) }))
	for i := range 100 {
		addAll(t, r, "s", benchElement(i))
	}
	snap := r.Store().Snapshot()
	for name, read := range map[string]func() bool{
		"GCounter": func() bool { v, err := ViewOf[GCounter](snap.View("g")); return err == nil && v.Value() == 7 },
		"PNCounter": func() bool {
			v, err := ViewOf[PNCounter](snap.View("pn"))
			return err == nil && v.Value() == 7
		},
		"ORSet": func() bool { v, err := ViewOf[ORSet[string]](snap.View("s")); return err == nil && v.Len() == 100 },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if !read() {
				t.Fatal(name)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
