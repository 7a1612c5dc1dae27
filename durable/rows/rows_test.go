package rows

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/replicator/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writer is a replica whose changes go to a table, as a machine and its driver do it.
type writer struct {
	rep   *crdt.Replica
	table durable.Table
}

func newWriter(t testing.TB, origin crdt.Origin) *writer {
	t.Helper()
	table, err := durable.NewMemory().AutoFlush(true).Table("t")
	if err != nil {
		t.Fatal(err)
	}
	return &writer{rep: crdt.NewReplica(origin, crdt.StoreOptions{}), table: table}
}

func (w *writer) update(t testing.TB, key string, fn func(*crdt.ORSetTx[string]) error) {
	t.Helper()
	var ch crdt.Changes
	if _, err := w.rep.Update(key, 0, crdt.Mutate[crdt.ORSet[string]](fn), &ch); err != nil {
		t.Fatal(err)
	}
	b := storage.Batch{Put: slices.Clone(ch.Put), Clock: w.rep.Store().Clock().Clone(), Digest: w.rep.Store().Digest()}
	for _, it := range ch.Dropped {
		b.Drop = append(b.Drop, it.Dot)
	}
	mustCommit(t, w.table, Of(b)...)
}

func (w *writer) add(t testing.TB, key, element string) {
	t.Helper()
	w.update(t, key, func(s *crdt.ORSetTx[string]) error { return s.Add(element) })
}

func mustCommit(t testing.TB, table durable.Table, rows ...durable.Row) {
	t.Helper()
	table.Commit(rows, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
}

// load loads a table into a replica of a new incarnation.
func load(table durable.Table, origin crdt.Origin) (*crdt.Replica, error) {
	rep := crdt.NewReplica(origin, crdt.StoreOptions{})
	l, err := Load(table)
	if err == nil && l.Clock != nil {
		err = rep.Load(l.Clock, l.Digest, l.Items)
	}
	return rep, err
}

func elements(t testing.TB, rep *crdt.Replica, key string) []string {
	t.Helper()
	set, err := crdt.ViewOf[crdt.ORSet[string]](rep.Store().View(key))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(set.All())
}

// What a replica wrote, whatever its history, is what a new incarnation loads; and what Verify
// finds sound.
func TestWhatWasWrittenIsLoaded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWriter(t, 1)
		for range rapid.IntRange(0, 40).Draw(rt, "updates") {
			key := rapid.SampledFrom([]string{"a", "b", strings.Repeat("k", crdt.KeyMax)}).Draw(rt, "key")
			element := rapid.SampledFrom([]string{"", "x", "y", "z", strings.Repeat("e", 1000)}).Draw(rt, "element")
			remove := rapid.IntRange(0, 2).Draw(rt, "remove") == 0
			w.update(t, key, func(s *crdt.ORSetTx[string]) error {
				if remove {
					return s.Remove(element)
				}
				return s.Add(element)
			})
		}
		rep, err := load(w.table, 2)
		if err != nil {
			rt.Fatal(err)
		}
		was, is := w.rep.Store(), rep.Store()
		if !was.Clock().Equal(is.Clock()) || was.Digest() != is.Digest() || was.Len() != is.Len() {
			rt.Fatalf("loaded %v of %v", is, was)
		}
		s, err := Verify(w.table)
		if err != nil || s.Items != was.Len() {
			rt.Fatalf("verified %d items of %d: %v", s.Items, was.Len(), err)
		}
	})
}

// counted counts the rows that were read of a table.
type counted struct {
	durable.Table
	rows int
}

func (c *counted) Load(fn func(durable.Row) error) error {
	return c.Table.Load(func(r durable.Row) error { c.rows++; return fn(r) })
}

func TestLoadStreams(t *testing.T) {
	w := newWriter(t, 1)
	for i := range 10 {
		w.add(t, "k", fmt.Sprint(i))
	}
	c := &counted{Table: w.table}
	l, err := Load(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.rows != 1 {
		t.Fatalf("%d rows were read before anybody asked for an item", c.rows)
	}
	seen := 0
	for _, err := range l.Items {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; c.rows != seen+2 { // the head twice
			t.Fatalf("%d rows were read for %d items", c.rows, seen)
		}
		if seen == 5 {
			break
		}
	}
	if c.rows != 7 {
		t.Fatalf("%d rows were read for 5 items", c.rows)
	}
}

func TestAnEmptyTable(t *testing.T) {
	w := newWriter(t, 1)
	l, err := Load(w.table)
	if err != nil || l.Clock != nil || l.Items != nil {
		t.Fatalf("loaded %v, %v", l.Clock, err)
	}
	if s, err := Verify(w.table); err != nil || s.Clock != nil || s.Items != 0 {
		t.Fatalf("verified %+v, %v", s, err)
	}
	if r, err := Remove(w.table, 9, func(string) bool { return true }); err != nil || r != (Removed{}) {
		t.Fatalf("removed %+v, %v", r, err)
	}
}

// Whatever is wrong with the rows is found by the start of a node and by Verify, with the row in
// the message or the sums.
func TestDamageIsFound(t *testing.T) {
	item := func(o crdt.Origin, seq uint64) []byte { return itemKey(nil, crdt.Dot{Origin: o, Seq: seq}) }
	whole := func(key []byte) func(*testing.T, *writer) durable.Row {
		return func(t *testing.T, w *writer) (row durable.Row) {
			if err := w.table.Load(func(r durable.Row) error {
				if bytes.Equal(r.Key, key) {
					row = durable.Row{Key: key, Value: bytes.Clone(r.Value)}
				}
				return nil
			}); err != nil || row.Key == nil {
				t.Fatal(err)
			}
			return row
		}
	}
	damages := []struct {
		name, says string
		row        func(*testing.T, *writer) durable.Row
	}{
		{"an item is gone", "sum to", func(*testing.T, *writer) durable.Row { return durable.Row{Key: item(1, 2)} }},
		{"the head is gone", "stands where the clock should be", func(*testing.T, *writer) durable.Row {
			return durable.Row{Key: headKey}
		}},
		{"a later format", "format 3", func(t *testing.T, w *writer) durable.Row {
			r := whole(item(1, 2))(t, w)
			r.Value[0] = 3
			return r
		}},
		{"a later format of the head", "format 9", func(t *testing.T, w *writer) durable.Row {
			r := whole(headKey)(t, w)
			r.Value[0] = 9
			return r
		}},
		{"a head with unknown counts", "counts(3)", func(t *testing.T, w *writer) durable.Row {
			r := whole(headKey)(t, w)
			r.Value[1] = 3
			return r
		}},
		{"a mark of no batch", "none of a replica's", func(*testing.T, *writer) durable.Row {
			return durable.Row{Key: markKey(nil, 1), Value: (&crdt.Clock{}).Append([]byte{format})}
		}},
		{"a head cut short", "too few", func(t *testing.T, w *writer) durable.Row {
			r := whole(headKey)(t, w)
			r.Value = r.Value[:5]
			return r
		}},
		{"a clock cut short", "malformed", func(t *testing.T, w *writer) durable.Row {
			r := whole(headKey)(t, w)
			r.Value = r.Value[:len(r.Value)-1]
			return r
		}},
		{"an item cut short", "malformed", func(t *testing.T, w *writer) durable.Row {
			r := whole(item(1, 2))(t, w)
			r.Value = r.Value[:len(r.Value)-1]
			return r
		}},
		{"another element", "sum to", func(t *testing.T, w *writer) durable.Row {
			r := whole(item(1, 2))(t, w)
			r.Value = bytes.Replace(r.Value, []byte("two"), []byte("TWO"), 1)
			return r
		}},
		{"an item under another dot", "holds", func(t *testing.T, w *writer) durable.Row {
			r := whole(item(1, 2))(t, w)
			r.Key = item(1, 3)
			return r
		}},
		{"an item that the clock lacks", "clock", func(*testing.T, *writer) durable.Row {
			it := crdt.Item{Dot: crdt.Dot{Origin: 7, Seq: 7}, Key: "k", Path: "p"}
			return durable.Row{Key: itemKey(nil, it.Dot), Value: crdt.AppendItem([]byte{format}, &it)}
		}},
		{"a row of no table", "row 7a", func(*testing.T, *writer) durable.Row {
			return durable.Row{Key: []byte("zz"), Value: []byte{format, 1}}
		}},
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			w := newWriter(t, 1)
			for _, e := range []string{"one", "two", "three"} {
				w.add(t, "k", e)
			}
			mustCommit(t, w.table, d.row(t, w))
			if _, err := load(w.table, 2); err == nil || !strings.Contains(err.Error(), d.says) {
				t.Errorf("loading said %v, want %q in it", err, d.says)
			}
			if _, err := Verify(w.table); err == nil || !strings.Contains(err.Error(), d.says) {
				t.Errorf("verifying said %v, want %q in it", err, d.says)
			}
			before := rowsIn(t, w.table)
			if _, err := Remove(w.table, 9, func(string) bool { return true }); err == nil ||
				!slices.Equal(before, rowsIn(t, w.table)) {
				t.Errorf("removed from a damaged table: %v", err)
			}
		})
	}
}

func rowsIn(t testing.TB, table durable.Table) (rows []string) {
	t.Helper()
	if err := table.Load(func(r durable.Row) error {
		rows = append(rows, fmt.Sprintf("%x=%x", r.Key, r.Value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestInspectCounts(t *testing.T) {
	w := newWriter(t, 1)
	for i := range 30 {
		w.add(t, []string{"b", "a", "c"}[i%3], fmt.Sprint(i))
	}
	w.update(t, "c", func(s *crdt.ORSetTx[string]) error { return s.Clear() })
	s, err := Inspect(w.table)
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	names := []string{}
	for _, k := range s.Keys {
		names = append(names, k.Name)
		bytes += k.Bytes
		if k.Items != 10 || !slices.Equal(k.Kinds, []crdt.Kind{crdt.KindORSet}) {
			t.Errorf("%+v", k)
		}
	}
	if s.Items != 20 || s.Bytes != bytes || bytes < 20*20 || s.Clock.Len() != 31 ||
		!slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%+v, keys of %d bytes", s, bytes)
	}
}

// What was removed offline is gone on every replica after they have met, also from those that were
// not touched; the rest is there, and clocks and digests agree.
func TestRemoveSpreads(t *testing.T) {
	w := newWriter(t, 1)
	for i := range 20 {
		w.add(t, fmt.Sprint("type/", i%4), fmt.Sprint(i))
		w.add(t, "other", fmt.Sprint(i))
	}
	untouched, err := load(w.table, 2)
	if err != nil {
		t.Fatal(err)
	}
	match := func(key string) bool { return strings.HasPrefix(key, "type/") }
	r, err := Remove(w.table, 9, match)
	if err != nil || r.Keys != 4 || r.Items != 20 {
		t.Fatalf("removed %+v, %v", r, err)
	}
	if _, err := Verify(w.table); err != nil {
		t.Fatal(err)
	}
	if again, err := Remove(w.table, 10, match); err != nil || again != (Removed{}) {
		t.Fatalf("removed again %+v, %v", again, err)
	}
	if _, err := Remove(w.table, 9, match); !errors.Is(err, crdt.ErrOwnFuture) {
		t.Fatalf("an origin was used twice: %v", err)
	}
	touched, err := load(w.table, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct{ to, from *crdt.Replica }{{untouched, touched}, {touched, untouched}} {
		from := m.from.Store().Snapshot()
		var items []crdt.Item
		for it := range from.Items() {
			items = append(items, *it)
		}
		live := func(d crdt.Dot) bool { _, ok := m.from.Store().Item(d); return ok }
		if err := m.to.Merge(from.Clock(), live, items, &crdt.Changes{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, rep := range map[string]*crdt.Replica{"touched": touched, "untouched": untouched} {
		if n := len(elements(t, rep, "other")); n != 20 || rep.Store().Len() != 20 {
			t.Errorf("%s: %d others, %v", name, n, rep.Store())
		}
	}
	if touched.Store().Digest() != untouched.Store().Digest() ||
		!touched.Store().Clock().Equal(untouched.Store().Clock()) {
		t.Errorf("%v and %v differ", touched.Store(), untouched.Store())
	}
}

// A store that fails in the middle of a removal of several transactions leaves a sound table.
func TestRemoveIsCutCleanly(t *testing.T) {
	m := durable.NewMemory().AutoFlush(true)
	table, err := m.Table("t")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{rep: crdt.NewReplica(1, crdt.StoreOptions{}), table: table}
	const n = removeBatch + 10
	for from := 0; from < n; from += 10_000 {
		w.update(t, "k", func(s *crdt.ORSetTx[string]) error {
			for i := from; i < min(from+10_000, n); i++ {
				if err := s.Add(fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	fails := &failing{Table: table, after: 1, m: m}
	r, err := Remove(fails, 9, func(string) bool { return true })
	if !errors.Is(err, durable.ErrFull) || r.Items != removeBatch {
		t.Fatalf("removed %+v, %v", r, err)
	}
	if s, err := Verify(table); err != nil || s.Items != 10 {
		t.Fatalf("%d items are left: %v", s.Items, err)
	}
}

// failing lets some commits through and fails the next.
type failing struct {
	durable.Table
	after int
	m     *durable.Memory
}

func (f *failing) Commit(rows []durable.Row, done func(error)) {
	if f.after--; f.after < 0 {
		f.m.FailNext(durable.ErrFull)
	}
	f.Table.Commit(rows, done)
}

// slice is a table of two rows of any bytes.
type slice []durable.Row

func (s slice) Commit([]durable.Row, func(error)) {}
func (s slice) Load(fn func(durable.Row) error) error {
	for _, r := range s {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Whatever the rows hold, reading ends with an error or with a table that loads to what Verify
// counted.
func FuzzRows(f *testing.F) {
	w := newWriter(f, 1)
	w.add(f, "k", "e")
	var seeds slice
	_ = w.table.Load(func(r durable.Row) error {
		seeds = append(seeds, durable.Row{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
		return nil
	})
	f.Add(seeds[0].Key, seeds[0].Value, seeds[1].Key, seeds[1].Value)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		bent := bytes.Clone(seeds[rng.IntN(2)].Value)
		bent[rng.IntN(len(bent))] ^= byte(1 << rng.IntN(8))
		f.Add(seeds[0].Key, bent, seeds[1].Key, seeds[1].Value)
		f.Add(seeds[0].Key, seeds[0].Value, seeds[1].Key, bent)
	}
	for counts := range byte(3) { // a batch in parts: with a mark, and with a row that does not count
		torn := bytes.Clone(seeds[0].Value)
		torn[1] = counts
		f.Add(seeds[0].Key, torn, markKey(nil, 1), w.rep.Store().Clock().Append([]byte{format}))
		f.Add(seeds[0].Key, torn, itemKey(nil, crdt.Dot{Origin: 7, Seq: 7}), seeds[1].Value)
	}
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte) {
		for _, b := range [][]byte{k1, v1, k2, v2} {
			if len(b) == 0 {
				return // no store gives such rows
			}
		}
		if bytes.Compare(k1, k2) >= 0 {
			return
		}
		table := slice{{Key: k1, Value: v1}, {Key: k2, Value: v2}}
		s, err := Verify(table)
		rep, lerr := load(table, 2)
		if (err == nil) != (lerr == nil) {
			t.Fatalf("verifying said %v and loading said %v", err, lerr)
		}
		if err == nil && rep.Store().Len() != s.Items {
			t.Fatalf("%d items loaded, %d counted", rep.Store().Len(), s.Items)
		}
	})
}
