package crdt

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestTxSeesItsOwnWrites(t *testing.T) {
	for _, size := range []int{0, 3, 3 * keySmallMax} {
		r := NewReplica(1, StoreOptions{})
		for i := range size {
			addAll(t, r, "s", fmt.Sprintf("e%03d", i))
		}
		mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
			before := s.All()
			for _, e := range []string{"x", "y", "x"} {
				if err := s.Add(e); err != nil {
					return err
				}
			}
			if !s.Contains("x") || s.Len() != size+2 || len(slices.Collect(before)) != size {
				t.Errorf("size %d: reads %d, before %d", size, s.Len(), len(slices.Collect(before)))
			}
			if err := s.Remove("y"); err != nil {
				return err
			}
			if s.Contains("y") || s.Len() != size+1 || len(slices.Collect(s.All())) != size+1 {
				t.Errorf("size %d: reads %d after a removal", size, s.Len())
			}
			return s.Clear()
		}))
		if n := r.Store().Len(); n != 0 {
			t.Errorf("size %d: %d items left", size, n)
		}
		if err := r.Store().Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestFailedUpdateLeavesNoTrace(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		fn   func(s *ORSetTx[string]) error
		want error
	}{
		"error":       {func(*ORSetTx[string]) error { return boom }, boom},
		"panic":       {func(*ORSetTx[string]) error { panic("boom") }, ErrPanic},
		"panic error": {func(*ORSetTx[string]) error { panic(boom) }, boom},
		"ignored error": {func(s *ORSetTx[string]) error {
			_ = s.Add(string(make([]byte, PathMax)))
			return nil
		}, ErrTooLarge},
	} {
		r := NewReplica(1, StoreOptions{})
		addAll(t, r, "s", "x")
		before := r.Store().Digest()
		g, err := r.Update("s", 0, Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
			if err := s.Add("y"); err != nil {
				return err
			}
			return c.fn(s)
		}), nil)
		if !errors.Is(err, c.want) || g != nil || r.Store().Digest() != before || r.Seq() != 1 {
			t.Errorf("%s: %v, %v, %v", name, g, err, r.Store())
		}
		addAll(t, r, "s", "z")
		if err := r.Store().Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTxIsDeadAfterItsUpdate(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	var kept *ORSetTx[string]
	mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { kept = s; return s.Add("x") }))
	if err := kept.Add("y"); !errors.Is(err, ErrTxDone) {
		t.Fatal(err)
	}
	if err := kept.Remove("nothing"); !errors.Is(err, ErrTxDone) {
		t.Fatal(err)
	}
}

func TestTxRemovesOnlyWhatItObserved(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	if _, err := r.Update("k", 0, func(tx *Tx) error {
		return tx.Put("p", "", []Dot{{Origin: 2, Seq: 1}})
	}, nil); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
	if _, err := r.Update("k", 0, func(tx *Tx) error {
		return tx.Put("p", "", []Dot{{Origin: 1, Seq: 1}})
	}, nil); !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
}

func TestTypeClashIsTheCallersError(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	addAll(t, r, "s", "not an integer")
	clash := func(name string, fn func(*Tx) error) {
		t.Helper()
		if _, err := r.Update("s", 0, fn, nil); !errors.Is(err, ErrTypeClash) {
			t.Errorf("%s: %v", name, err)
		}
	}
	clash("counter", Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(1) }))
	clash("register", Mutate[LWWRegister[string]](func(l *LWWRegisterTx[string]) error { return l.Put("x") }))
	clash("map", Mutate[LWWMap[string, string]](func(m *LWWMapTx[string, string]) error { return m.Put("x", "y") }))
	clash("other element", Mutate[ORSet[int]](func(s *ORSetTx[int]) error { return s.Add(1) }))
	if _, err := ViewOf[GCounter](r.Store().View("s")); !errors.Is(err, ErrTypeClash) {
		t.Error(err)
	}
	// Two nodes made the key at once, each with its type: both clash until someone deletes it.
	o := NewReplica(2, StoreOptions{})
	g := mustUpdate(t, o, "s", Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(1) }))
	if _, err := r.Apply(g, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ViewOf[ORSet[string]](r.Store().View("s")); !errors.Is(err, ErrTypeClash) {
		t.Error(err)
	}
	mustUpdate(t, r, "s", func(tx *Tx) error { _, err := tx.RemoveAll(KindORSet.Path()); return err })
	if c, err := ViewOf[GCounter](r.Store().View("s")); err != nil || c.Value() != 1 {
		t.Error(c, err)
	}
	mustUpdate(t, r, "s", func(tx *Tx) error { _, err := tx.RemoveAll(""); return err })
	addAll(t, r, "s", "fine again")
}

func TestOwnOriginUsedElsewhere(t *testing.T) {
	a, twin := NewReplica(1, StoreOptions{}), NewReplica(1, StoreOptions{})
	addAll(t, twin, "s", "x")
	gs, _, _ := twin.Store().Missing(a.Store().Clock(), 1<<20)
	if _, err := a.Apply(gs[0], nil); !errors.Is(err, ErrOwnFuture) {
		t.Fatal(err)
	}
	snap := twin.Store().Snapshot()
	if err := a.Merge(snap.Clock(), snap.Live, itemsOf(snap), nil); !errors.Is(err, ErrOwnFuture) {
		t.Fatal(err)
	}
}

// More dots than one event may remove go into several events of one group.
func TestClearOfAHugeSet(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for range 2 {
		mustUpdate(t, r, "s", Mutate[ORSet[int]](func(s *ORSetTx[int]) error {
			for i := range 40_000 {
				if err := s.Add(r.Store().Len() + i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	g := mustUpdate(t, r, "s", Mutate[ORSet[int]](func(s *ORSetTx[int]) error { return s.Clear() }))
	if len(g) != 2 || r.Store().Len() != 0 {
		t.Fatal(len(g), r.Store().Len())
	}
	if err := r.Store().Check(); err != nil {
		t.Fatal(err)
	}
}

// Last names the event that was made last, and none after the transaction or before it has made one.
func TestTxLast(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	addAll(t, r, "k", "earlier")
	var kept *Tx
	g := mustUpdate(t, r, "k", func(tx *Tx) error {
		kept = tx
		if got := tx.Last(); got != (Dot{}) {
			t.Errorf("before the first event it is %v", got)
		}
		for _, path := range []string{"a", "b"} {
			if err := tx.Put(path, "", nil); err != nil {
				return err
			}
			if at := tx.At(path); len(at) != 1 || at[0].Dot != tx.Last() {
				t.Errorf("at %s is %v, the last event is %v", path, at, tx.Last())
			}
		}
		return nil
	})
	if got := kept.Last(); got != (Dot{}) {
		t.Errorf("after the transaction %v it is %v", g.Last(), got)
	}
}

// Before shows the state without the writes of the transaction, whatever was read and written in it, and
// nothing when the transaction is over. It costs the writes no copy, and neither does Peek.
func TestBeforeShowsNoWrites(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	set := func(r Reader) (elems []string) {
		s, err := ViewOf[ORSet[string]](r)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(s.All())
	}
	for i := range 3 * keySmallMax {
		want := set(r.Store().Peek("s"))
		var over *Tx
		mustUpdate(t, r, "s", func(tx *Tx) error {
			s, early := ORSet[string]{}.Mutator(tx), tx.Before()
			for _, e := range []string{fmt.Sprintf("e%03d", i), "last"} {
				if err := s.Add(e); err != nil {
					return err
				}
				if !s.Contains(e) { // the transaction has a state of its own from here on
					t.Errorf("%q is not there", e)
				}
				for _, before := range []Reader{early, tx.Before()} {
					if got := set(before); !slices.Equal(got, want) {
						t.Fatalf("before there was %v, want %v", got, want)
					}
				}
			}
			over = tx
			return nil
		})
		if got := set(over.Before()); len(got) > 0 {
			t.Fatalf("after the transaction: %v", got)
		}
	}
	mustUpdate(t, r, "s", func(tx *Tx) error {
		ks := r.Store().live.keys.get("s")
		tx.Before()
		r.Store().Peek("s")
		if ks.more.gen == 0 {
			t.Error("the next write copies")
		}
		tx.Reader()
		if ks.more.gen != 0 {
			t.Error("the next write does not copy what a reader keeps")
		}
		return nil
	})
}

func TestLookTellsOfPanics(t *testing.T) {
	r := NewReplica(1, StoreOptions{}).Store().Peek("k")
	boom := errors.New("boom")
	if err := Look(r, func(Reader) error { return boom }); err != boom {
		t.Error(err)
	}
	if err := Look(r, func(Reader) error { panic(boom) }); !errors.Is(err, ErrPanic) || !errors.Is(err, boom) {
		t.Error(err)
	}
}
