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

// An update makes what it leaves behind: the transaction, the path, the group with what it removes, and the item. What
// a value is changed through is the transaction itself, and where the key stands is looked at without a copy.
func TestUpdatesAllocateLittle(t *testing.T) {
	r := NewReplica(1, StoreOptions{LogMax: 64})
	var es []string
	for i := range 2_000 {
		es = append(es, benchElement(i))
		addAll(t, r, "s", es[i])
	}
	var ch Changes
	for name, c := range map[string]struct {
		fn   func(s *ORSetTx[string], e string) error
		most float64
	}{
		"add what is there": {(*ORSetTx[string]).Add, 4},
		"remove":            {(*ORSetTx[string]).Remove, 3},
	} {
		change := Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
			e := es[0]
			es = es[1:]
			return c.fn(s, e)
		})
		if n := testing.AllocsPerRun(500, func() {
			ch.Reset()
			if _, err := r.Update("s", 0, change, &ch); err != nil {
				t.Fatal(err)
			}
		}); n > c.most {
			t.Errorf("%s: %v allocations, at most %v", name, n, c.most)
		}
	}
}
