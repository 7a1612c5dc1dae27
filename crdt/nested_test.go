package crdt

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

type (
	setMap   = ORMap[string, ORSet[string], *ORSetTx[string]]
	setMapTx = ORMapTx[string, ORSet[string], *ORSetTx[string]]
)

func addWithin(k, e string) func(*setMapTx) error {
	return func(m *setMapTx) error { return m.Update(k, func(s *ORSetTx[string]) error { return s.Add(e) }) }
}

func mustChange[V Value[V, T], T any](t testing.TB, s *Standalone[V, T], fn func(T) error) Group {
	t.Helper()
	g, err := s.Update(fn)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The anomaly of the reference, in both timings: a key is removed while another node updates it.
// What the remover had seen does not come back.
func TestOldContentDoesNotReturn(t *testing.T) {
	for _, sawRemoval := range []bool{false, true} {
		a, b := New[setMap](1), New[setMap](2)
		mustChange(t, a, addWithin("k", "old"))
		if err := b.Merge(a); err != nil {
			t.Fatal(err)
		}
		gone := mustChange(t, a, func(m *setMapTx) error { return m.Remove("k") })
		if sawRemoval {
			if _, err := b.Apply(gone); err != nil {
				t.Fatal(err)
			}
		}
		mustChange(t, b, addWithin("k", "new"))
		if err := errors.Join(a.Merge(b), b.Merge(a)); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Standalone[setMap, *setMapTx]{a, b} {
			m, err := s.Value()
			set, ok := m.Get("k")
			if got := slices.Collect(set.All()); err != nil || !ok || !slices.Equal(got, []string{"new"}) {
				t.Errorf("saw the removal: %v: %q, %v, %v", sawRemoval, got, ok, err)
			}
		}
	}
}

// R10: an update that puts nothing keeps its key, and a counter keeps what its origin had.
func TestWhatAConcurrentUpdateLeaves(t *testing.T) {
	a, b := New[setMap](1), New[setMap](2)
	mustChange(t, a, addWithin("k", "e"))
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	mustChange(t, a, func(m *setMapTx) error { return m.Remove("k") })
	mustChange(t, b, func(m *setMapTx) error {
		return m.Update("k", func(s *ORSetTx[string]) error { return s.Remove("e") })
	})
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	m, err := a.Value()
	if set, ok := m.Get("k"); err != nil || !ok || set.Len() != 0 || m.Len() != 1 {
		t.Fatal(set.Len(), ok, err)
	}

	c, d := New[PNCounterMap[string]](1), New[PNCounterMap[string]](2)
	count := func(s *Standalone[PNCounterMap[string], *PNCounterMapTx[string]], n int64) {
		mustChange(t, s, func(m *PNCounterMapTx[string]) error { return m.Increment("k", n) })
	}
	count(c, 5)
	count(d, 30)
	if err := errors.Join(c.Merge(d), d.Merge(c)); err != nil {
		t.Fatal(err)
	}
	mustChange(t, c, func(m *PNCounterMapTx[string]) error { return m.Remove("k") })
	count(d, 1)
	if err := errors.Join(c.Merge(d), d.Merge(c)); err != nil {
		t.Fatal(err)
	}
	v, _ := c.Value()
	if n, err := v.Value("k"); n != 31 || err != nil {
		t.Fatal(n, err)
	}
	count(d, -31)
	mustChange(t, d, func(m *PNCounterMapTx[string]) error { return m.Remove("k") })
	count(d, 2)
	if v, _ := d.Value(); fmt.Sprint(maps.Collect(v.All())) != "map[k:2]" {
		t.Fatal(maps.Collect(v.All()))
	}
}

// The anomaly of the reference's multimap: a removal beside the add of another binding of the key.
func TestMultiMapLosesNoRemoval(t *testing.T) {
	a, b := New[ORMultiMap[string, string]](1), New[ORMultiMap[string, string]](2)
	mustChange(t, a, func(m *ORMultiMapTx[string, string]) error { return m.Add("k", "A") })
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	mustChange(t, a, func(m *ORMultiMapTx[string, string]) error { return m.Remove("k", "A") })
	mustChange(t, b, func(m *ORMultiMapTx[string, string]) error { return m.Add("k", "B") })
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	if m, err := a.Value(); err != nil || !slices.Equal(slices.Collect(m.Get("k")), []string{"B"}) {
		t.Fatal(slices.Collect(m.Get("k")), err)
	}
}

// Values of two types under one key of a map: an error for a caller that touches it, until it is
// removed. The rest of the map is fine.
func TestTypeClashWithinAMap(t *testing.T) {
	type counters = ORMap[string, GCounter, *GCounterTx]
	r := NewReplica(1, StoreOptions{})
	sets := func(fn func(*setMapTx) error) error {
		_, err := r.Update("m", 0, Mutate[setMap](fn), nil)
		return err
	}
	if err := errors.Join(sets(addWithin("a", "x")), sets(addWithin("z", "y"))); err != nil {
		t.Fatal(err)
	}
	if _, err := ViewOf[counters](r.Store().View("m")); !errors.Is(err, ErrTypeClash) {
		t.Fatal("a map of sets is read as one of counters:", err)
	}
	_, err := ViewOf[ORMap[int, ORSet[string], *ORSetTx[string]]](r.Store().View("m"))
	if !errors.Is(err, ErrTypeClash) {
		t.Fatal("keys are read as numbers:", err)
	}
	o := NewReplica(2, StoreOptions{})
	mustApply(t, r.Store(), mustUpdate(t, o, "m",
		Mutate[counters](func(m *ORMapTx[string, GCounter, *GCounterTx]) error {
			return m.Update("z", func(c *GCounterTx) error { return c.Increment(1) })
		})))
	m, err := ViewOf[setMap](r.Store().View("m"))
	if _, ok := m.Get("z"); err != nil || ok || !errors.Is(m.Err("z"), ErrTypeClash) ||
		m.Err("a") != nil || !m.Contains("z") {
		t.Fatal(ok, err, m.Err("z"), m.Err("a"))
	}
	ran := false
	if err := sets(func(m *setMapTx) error {
		return m.Update("z", func(*ORSetTx[string]) error { ran = true; return nil })
	}); !errors.Is(err, ErrTypeClash) || ran {
		t.Fatal(err, ran)
	}
	if err := sets(func(m *setMapTx) error {
		return errors.Join(m.Remove("z"), addWithin("z", "again")(m))
	}); err != nil {
		t.Fatal(err)
	}
	m, _ = ViewOf[setMap](r.Store().View("m"))
	if set, ok := m.Get("z"); !ok || !slices.Equal(slices.Collect(set.All()), []string{"again"}) {
		t.Fatal(ok, m.Err("z"))
	}
}

func TestNodeOwnedTypesStandInNoMap(t *testing.T) {
	s := New[ORMap[string, NodeSet[string], *NodeSetTx[string]]](1)
	if _, err := s.Update(func(m *ORMapTx[string, NodeSet[string], *NodeSetTx[string]]) error {
		return m.Update("k", func(s *NodeSetTx[string]) error { return s.Add("e") })
	}); !errors.Is(err, ErrNested) {
		t.Fatal(err)
	}
}

func TestPNCounterAtItsEnds(t *testing.T) {
	c := New[PNCounter](1)
	do := func(fn func(*PNCounterTx) error) error { _, err := c.Update(fn); return err }
	down := func(n int64) func(*PNCounterTx) error { return func(c *PNCounterTx) error { return c.Decrement(n) } }
	up := func(n int64) func(*PNCounterTx) error { return func(c *PNCounterTx) error { return c.Increment(n) } }
	want := func(n int64) {
		t.Helper()
		if v, err := c.Value(); err != nil || v.Value() != n {
			t.Fatal(v, err)
		}
	}
	if err := do(down(math.MinInt64)); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if err := errors.Join(do(up(-1)), do(down(math.MinInt64))); err != nil {
		t.Fatal(err)
	}
	want(math.MaxInt64)
	if err := do(up(1)); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if err := errors.Join(do(up(math.MinInt64)), do(down(math.MaxInt64))); err != nil {
		t.Fatal(err)
	}
	want(math.MinInt64)
	if err := do(down(1)); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	// Two nodes go past the end together; each may count back.
	d := New[PNCounter](2)
	mustChange(t, d, down(10))
	if err := c.Merge(d); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Value(); !errors.Is(err, ErrOverflow) {
		t.Fatal(err)
	}
	if err := do(down(1)); !errors.Is(err, ErrOverflow) {
		t.Fatal("further out:", err)
	}
	if err := errors.Join(do(up(4)), do(up(6))); err != nil {
		t.Fatal(err)
	}
	want(math.MinInt64)
}

func TestWholeRefusesWhatItCannotMerge(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	mustUpdate(t, r, "k", Mutate[Whole[tally]](func(w *WholeTx[tally]) error { return w.Put(tally{"a": 1}) }))
	path := Kind(KindUser + 3).Path()
	o := NewReplica(2, StoreOptions{})
	mustApply(t, r.Store(), mustUpdate(t, o, "k", func(tx *Tx) error { return tx.Put(path, "\xff", nil) }))
	if _, err := ViewOf[Whole[tally]](r.Store().View("k")); !errors.Is(err, ErrTypeClash) {
		t.Fatal(err)
	}
	put := Mutate[Whole[tally]](func(w *WholeTx[tally]) error { return w.Put(tally{"a": 1}) })
	if _, err := r.Update("k", 0, put, nil); !errors.Is(err, ErrTypeClash) {
		t.Fatal("the value that could not be read would be lost:", err)
	}
	if _, err := ViewOf[Whole[low]](r.Store().View("other")); !errors.Is(err, ErrTypeClash) {
		t.Fatal("a kind of this package:", err)
	}
}

// reading is a value of a user's program, newerReading of its next version; both know nested.
type (
	reading      struct{ Max nested }
	newerReading struct {
		Max nested2
		Min int
	}
	nested  struct{ At int }
	nested2 struct{ At, By int }
)

func (reading) Kind() Kind      { return KindUser + 9 }
func (newerReading) Kind() Kind { return KindUser + 9 }

func (a reading) Merge(b reading) reading { return reading{nested{max(a.Max.At, b.Max.At)}} }

func (a newerReading) Merge(b newerReading) newerReading {
	return newerReading{nested2{max(a.Max.At, b.Max.At), max(a.Max.By, b.Max.By)}, max(a.Min, b.Min)}
}

// While two versions of a program run, the older one reads what it knows, and never drops what it
// does not.
func TestWholeKeepsFieldsThatAnOlderProgramLacks(t *testing.T) {
	for name, put := range map[string]newerReading{
		"field": {nested2{At: 5}, 7}, "field of a field": {nested2{5, 3}, 0},
	} {
		newer, older := New[Whole[newerReading]](1), New[Whole[reading]](2)
		write := func(v reading) (Group, error) {
			return older.Update(func(tx *WholeTx[reading]) error { return tx.Put(v) })
		}
		first, err := write(reading{nested{1}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newer.Apply(first); err != nil {
			t.Fatal(err)
		}
		g, err := newer.Update(func(tx *WholeTx[newerReading]) error { return tx.Put(put) })
		if err != nil {
			t.Fatal("over an older value:", err)
		}
		if _, err := older.Apply(g); err != nil {
			t.Fatal(err)
		}
		v, err := older.Value()
		if got, ok := v.Get(); got.Max.At != 5 || !ok || err != nil {
			t.Error(name, "the older program reads", got, ok, err)
		}
		_, err = write(reading{nested{6}})
		if !errors.Is(err, ErrTypeClash) ||
			!strings.Contains(err.Error(), "crdt.reading lacks a field that a newer program has written") {
			t.Error(name, "would be dropped:", err)
		}
		if w, err := newer.Value(); err != nil || w.state != put {
			t.Error(name, w.state, err)
		}
	}
}

// What AppendValue says of structs.
func TestStructsMatchByTheNamesOfTheirFields(t *testing.T) {
	b, err := AppendValue(nil, nested2{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	old, err := DecodeValue[nested](string(b))
	if old.At != 1 || err != nil {
		t.Error(old, err)
	}
	if other, err := DecodeValue[struct{ Name string }](string(b)); other.Name != "" || err != nil {
		t.Error(other, err)
	}
	if _, err := DecodeValue[struct{ At string }](string(b)); !errors.Is(err, ErrDecode) {
		t.Error("a field of another type:", err)
	}
}

type tally map[string]int

func (tally) Kind() Kind { return KindUser + 3 }

func (s tally) Merge(o tally) tally {
	all := tally{}
	for _, m := range []tally{s, o} {
		for k, n := range m {
			all[k] = max(all[k], n)
		}
	}
	return all
}

type low struct{}

func (low) Kind() Kind    { return KindORSet }
func (low) Merge(low) low { return low{} }
