package crdt

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

type userID string

type point struct{ X, Y int }

func TestORSetOfManyTypes(t *testing.T) {
	roundTrip(t, []string{"", "a", "b\xff"})
	roundTrip(t, []userID{"u1", "u2"})
	roundTrip(t, []int{math.MinInt, -1, 0, 1, math.MaxInt})
	roundTrip(t, []int8{-128, 0, 127})
	roundTrip(t, []uint64{0, 1, math.MaxUint64})
	roundTrip(t, []point{{1, 2}, {1, 3}})
	roundTrip(t, [][2]string{{"a", "b"}, {"c", "d"}})
	roundTrip(t, []bool{false, true})
	roundTrip(t, []float64{-1, 1.5}[:1])
}

// roundTrip puts elements, which stand in the order of their encodings, into a set and reads them
// back.
func roundTrip[E comparable](t *testing.T, es []E) {
	t.Helper()
	s := New[ORSet[E]](1)
	if _, err := s.Update(func(tx *ORSetTx[E]) error {
		for _, e := range slices.Backward(es) {
			if err := tx.Add(e); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	v, err := s.Value()
	if err != nil || !slices.Equal(slices.Collect(v.All()), es) {
		t.Fatalf("%v, %v: %v", es, slices.Collect(v.All()), err)
	}
	for _, e := range es {
		if !v.Contains(e) {
			t.Errorf("%v is not in %v", e, es)
		}
	}
}

func TestElementsThatCannotBeFoundAgainAreRefused(t *testing.T) {
	refuse(t, new(int))
	refuse(t, math.NaN())
	refuse(t, struct{ hidden int }{1})
	refuse(t, any("x"))
}

func refuse[E comparable](t *testing.T, e E) {
	t.Helper()
	s := New[ORSet[E]](1)
	if _, err := s.Update(func(tx *ORSetTx[E]) error { return tx.Add(e) }); e == e &&
		!errors.Is(err, ErrElement) && any(e) != any("x") {
		t.Errorf("%T: %v", e, err)
	}
}

func TestGCounterOverflows(t *testing.T) {
	a, b := New[GCounter](1), New[GCounter](2)
	add := func(c *Standalone[GCounter, *GCounterTx], n uint64) error {
		_, err := c.Update(func(tx *GCounterTx) error { return tx.Increment(n) })
		return err
	}
	if err := errors.Join(add(a, math.MaxUint64-1), add(a, 1)); err != nil {
		t.Fatal(err)
	}
	if err := add(a, 1); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if v, err := a.Value(); v.Value() != math.MaxUint64 || err != nil {
		t.Fatal(v, err)
	}
	if err := add(b, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Value(); !errors.Is(err, ErrOverflow) {
		t.Fatal("two replicas counted past the end:", err)
	}
	if err := add(b, 1); !errors.Is(err, ErrOverflow) {
		t.Fatal("counted on:", err)
	}
	if _, err := b.r.Update(standaloneKey, 0, func(tx *Tx) error {
		_, err := tx.RemoveAll("")
		return err
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := add(b, 1); err != nil {
		t.Fatal("to remove it mends it:", err)
	}
	if v, err := b.Value(); v.Value() != 1 || err != nil {
		t.Fatal(v, err)
	}
}

func TestAnUpdateOfTooManyChangesSaysWhatToDo(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	fill := func(n int) error {
		_, err := r.Update("k", 0, Mutate[GSet[int]](func(s *GSetTx[int]) error {
			for i := range n {
				if err := s.Add(i); err != nil {
					return err
				}
			}
			return nil
		}), nil)
		return err
	}
	if err := fill(EventsMax + 1); !errors.Is(err, ErrTooLarge) ||
		!strings.Contains(err.Error(), `key "k": more than 65536 changes in one update; spread them`) {
		t.Error(err)
	}
	if err := fill(EventsMax); err != nil {
		t.Error(err)
	}
}

func TestTimestampsAreAboveWhatWasObserved(t *testing.T) {
	a, b := New[LWWRegister[string]](1), New[LWWRegister[string]](2)
	if _, err := a.UpdateAt(1000, func(tx *LWWRegisterTx[string]) error { return tx.Put("ahead") }); err != nil {
		t.Fatal(err)
	}
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateAt(500, func(tx *LWWRegisterTx[string]) error { return tx.Put("behind, later") }); err != nil {
		t.Fatal(err)
	}
	v, err := b.Value()
	if got, ts, ok := v.At(); err != nil || !ok || got != "behind, later" || ts != (Timestamp{1000, 1}) {
		t.Fatal(got, ts, ok, err)
	}
	if _, err := b.Update(func(tx *LWWRegisterTx[string]) error {
		_, err := tx.PutAt("last", Timestamp{math.MaxUint64, math.MaxUint64})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Nothing is above that; yet no writer is locked out, for a write takes the place of what it
	// observed.
	for _, s := range []*Standalone[LWWRegister[string], *LWWRegisterTx[string]]{a, b} {
		if err := s.Merge(b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UpdateAt(2000, func(tx *LWWRegisterTx[string]) error { return tx.Put("beyond") }); err != nil {
			t.Fatal(err)
		}
		if err := b.Merge(s); err != nil {
			t.Fatal(err)
		}
		v, err := b.Value()
		if got, ts, _ := v.At(); err != nil || got != "beyond" || ts != (Timestamp{math.MaxUint64, math.MaxUint64}) ||
			b.Replica().Store().Len() != 1 {
			t.Fatal(got, ts, err)
		}
	}
}

func TestTimestampBytesSortLikeTimestamps(t *testing.T) {
	words := []uint64{0, 1, 255, 256, 1 << 32, math.MaxUint64}
	prev := ""
	for _, high := range words {
		for _, low := range words {
			ts := Timestamp{high, low}
			s := string(AppendTimestamp(nil, ts))
			if back, rest, ok := CutTimestamp(s + "rest"); !ok || back != ts || rest != "rest" {
				t.Fatal(ts, back, rest, ok)
			}
			if s <= prev {
				t.Fatalf("%v sorts wrong", ts)
			}
			prev = s
		}
	}
	for _, bad := range []string{"", "\x01", "\x09123456789\x00", "\x01\x00\x00", "\x00"} {
		if _, _, ok := CutTimestamp(bad); ok {
			t.Errorf("%q decodes", bad)
		}
	}
}

func TestEqualTimestampsBreakByOriginThenBytes(t *testing.T) {
	put := func(o Origin, v string) *Standalone[LWWRegister[string], *LWWRegisterTx[string]] {
		s := New[LWWRegister[string]](o)
		if _, err := s.Update(func(tx *LWWRegisterTx[string]) error {
			_, err := tx.PutAt(v, Timestamp{High: 5})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := put(1, "z"), put(2, "a")
	if err := errors.Join(a.Merge(b), b.Merge(a)); err != nil {
		t.Fatal(err)
	}
	va, _ := a.Value()
	vb, _ := b.Value()
	if x, _ := va.Get(); x != "a" || vb != va {
		t.Fatal(va, vb)
	}
	if _, err := a.Update(func(tx *LWWRegisterTx[string]) error { return tx.Remove() }); err != nil {
		t.Fatal(err)
	}
	if v, _ := a.Value(); v.set {
		t.Fatal("a loser came back", v)
	}
}

func TestStandaloneMergesWithoutALog(t *testing.T) {
	a, b := New[ORSet[string]](1), New[ORSet[string]](2)
	add := func(s *Standalone[ORSet[string], *ORSetTx[string]], e string) {
		if _, err := s.Update(func(tx *ORSetTx[string]) error { return tx.Add(e) }); err != nil {
			t.Fatal(err)
		}
	}
	add(a, "x")
	add(b, "y")
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Update(func(tx *ORSetTx[string]) error { return tx.Clear() }); err != nil {
		t.Fatal(err)
	}
	a.Replica().Trim(a.Replica().Store().Clock())
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Value(); err != nil || !slices.Equal(slices.Collect(v.All()), []string{"y"}) {
		t.Fatal(slices.Collect(v.All()), err)
	}
}

// What changes nothing makes no event. Such an event would travel to every replica, and no replica
// would keep it.
func TestNothingToDoMakesNoEvent(t *testing.T) {
	for name, update := range map[string]func(*Tx) error{
		"increment by 0":    Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(0) }),
		"remove from a set": Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("x") }),
		"clear a set":       Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Clear() }),
		"remove from a map": Mutate[LWWMap[string,
			int]](func(m *LWWMapTx[string, int]) error { return m.Remove("x") }),
		"clear a map":         Mutate[LWWMap[string, int]](func(m *LWWMapTx[string, int]) error { return m.Clear() }),
		"increment by nought": Mutate[PNCounter](func(c *PNCounterTx) error { return c.Decrement(0) }),
		"disable a flag":      Mutate[EWFlag](func(f *EWFlagTx) error { return f.Disable() }),
		"remove a key":        Mutate[setMap](func(m *setMapTx) error { return m.Remove("x") }),
		"clear a map of sets": Mutate[setMap](func(m *setMapTx) error { return m.Clear() }),
		"remove a binding": Mutate[ORMultiMap[string,
			int]](func(m *ORMultiMapTx[string, int]) error { return m.Remove("x", 1) }),
		"remove all bindings": Mutate[ORMultiMap[string,
			int]](func(m *ORMultiMapTx[string, int]) error { return m.RemoveKey("x") }),
		"remove a counter": Mutate[PNCounterMap[string]](func(m *PNCounterMapTx[string]) error {
			return m.Remove("x")
		}),
		"remove many values":   Mutate[MVRegister[int]](func(r *MVRegisterTx[int]) error { return r.Remove() }),
		"remove the first":     Mutate[FWWRegister[int]](func(r *FWWRegisterTx[int]) error { return r.Remove() }),
		"remove a whole value": Mutate[Whole[tally]](func(w *WholeTx[tally]) error { return w.Remove() }),
		"remove a register":    Mutate[LWWRegister[int]](func(r *LWWRegisterTx[int]) error { return r.Remove() }),
		"nothing at all":       Mutate[ORSet[string]](func(*ORSetTx[string]) error { return nil }),
		"look without change": Mutate[LWWMap[string,
			int]](func(m *LWWMapTx[string, int]) error { m.Len(); m.Get("x"); return nil }),
	} {
		r := NewReplica(1, StoreOptions{})
		if g, err := r.Update("k", 0, update, nil); g != nil || err != nil ||
			!r.Store().Clock().Empty() || r.Seq() != 0 {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}
