package crdt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// twins are two stores of the same history, of which each has made some puts and removes that the
// other lacks.
type twins struct{ a, b *Store }

func newTwins(tb testing.TB, rng *rand.Rand, opt StoreOptions, same, differ int) twins {
	tb.Helper()
	w := twins{NewStore(opt), NewStore(opt)}
	old := NewReplica(Origin(rng.Uint64()|1), opt)
	for i := range same {
		g := mustUpdate(tb, old, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
			return s.Add(fmt.Sprint(i))
		}))
		w.apply(tb, g, w.a, w.b)
	}
	for _, s := range []*Store{w.a, w.b} {
		mine := NewReplica(Origin(rng.Uint64()|1), opt)
		snap := s.Snapshot()
		if err := mine.Merge(snap.Clock(), snap.Live, itemsOf(snap), nil); err != nil {
			tb.Fatal(err)
		}
		for i := range differ {
			g := mustUpdate(tb, mine, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
				if i%3 == 0 {
					return s.Add(fmt.Sprint("new", i))
				}
				return s.Remove(fmt.Sprint(rng.IntN(same + 1)))
			}))
			if g != nil {
				w.apply(tb, g, s)
			}
		}
	}
	return w
}

func (w twins) apply(tb testing.TB, g Group, to ...*Store) {
	for _, s := range to {
		if out, err := s.Apply(g, nil); out != Applied || err != nil {
			tb.Fatal(out, err)
		}
	}
}

// differ returns the dots within a clock that are live on one side only, in order.
func (w twins) differ(within *Clock) (dots []Dot) {
	for _, s := range [][2]*Store{{w.a, w.b}, {w.b, w.a}} {
		for it := range s[0].In(within, Dot{}) {
			if _, both := s[1].Item(it.Dot); !both {
				dots = append(dots, it.Dot)
			}
		}
	}
	slices.SortFunc(dots, Dot.Compare)
	return dots
}

// Two stores find in what they differ among the dots that both clocks have, whether a sketch was
// kept or had to be made, and however it was cut into steps.
func TestSketchesOfTwoStoresGiveTheirDifference(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		cells := 900
		opt := StoreOptions{
			DigestSeed: seed, SketchCells: []int{0, 64, cells, 2000}[rng.IntN(4)], SketchFrom: 1 + rng.IntN(200),
		}
		w := newTwins(t, rng, opt, rng.IntN(400), rng.IntN(60))
		within := w.a.Clock().And(w.b.Clock())
		key := uint64(rng.IntN(2))
		var rows [2][]iblt.Cell
		var pins [2]*Pinned
		for i, s := range []*Store{w.a, w.b} {
			pins[i] = s.Pin()
			k := pins[i].Sketcher(key, cells, within)
			// a pinned moment does not move
			s.apply(Group{{Dot: Dot{Origin: 5, Seq: 1}, Key: "later", Path: "x", Puts: true}}, nil)
			for !k.Work(1 + rng.IntN(100)) {
			}
			rows[i] = k.Cells()[:cells]
		}
		f := pins[0].Finder(key, within)
		d := iblt.NewDecoder(f.Key(), func(id uint64) bool { _, ok := f.Find(id); return ok })
		d.Add(rows[0], rows[1])
		for d.Peel(10) {
		}
		if !d.Done() {
			t.Fatalf("seed %d: %d cells do not decode %d differences", seed, cells, len(w.differ(within)))
		}
		var got []Dot
		for _, id := range d.Found() {
			dot, _ := f.Find(id)
			got = append(got, dot)
		}
		slices.SortFunc(got, Dot.Compare)
		if want := w.differ(within); !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v, want %v", seed, got, want)
		}
	}
}

// Runs of dots with so many live items each cover all of a clock, and two stores that agree on a
// run's sum agree on its items.
func TestBucketsCoverAClock(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 11))
		w := newTwins(t, rng, StoreOptions{}, rng.IntN(300), rng.IntN(40))
		within := w.a.Clock().And(w.b.Clock())
		a, b := w.a.Pin(), w.b.Pin()
		per, most := 1+rng.IntN(20), 1+rng.IntN(6)
		var differ, found []Dot
		differ = w.differ(within)
		seen := &Clock{}
		for at, more := (Dot{}), true; more; {
			rest := within.After(at)
			sizes, sums, last := a.Buckets(rest, per, most)
			if last != (Dot{}) {
				rest = rest.UpTo(last)
			}
			runs := rest.Split(sizes)
			if len(runs) != len(sums) || len(sums) > most {
				t.Fatalf("seed %d: %d runs, %d sums, at most %d", seed, len(runs), len(sums), most)
			}
			for i, run := range runs {
				seen.Join(run)
				if sum, _ := a.Sum(run, Dot{}, 1000); sum != sums[i] || len(slices.Collect(a.In(run, Dot{}))) > per {
					t.Fatalf("seed %d: run %v sums to %v, told %v", seed, run, sum, sums[i])
				}
				if sum, _ := b.Sum(run, Dot{}, 1000); sum == sums[i] {
					continue
				}
				found = append(found, twins{w.a, w.b}.differ(run)...)
			}
			at, more = last, last != (Dot{})
		}
		if !seen.Equal(within) || !slices.Equal(found, differ) {
			t.Fatalf("seed %d: %v of %v, found %v of %v", seed, seen, within, found, differ)
		}
	}
}

// A number that two origins share leads to neither of their dots.
func TestFinderDoesNotGuess(t *testing.T) {
	s := NewStore(StoreOptions{planted: defect.Of(defect.WeakSketch)})
	c := &Clock{}
	c.AddRange(1, 1, 20)
	c.AddRange(2, 30, 40)
	f := s.Pin().Finder(1, c)
	h := f.hash
	if d, ok := f.Find(h.id(Dot{Origin: 1, Seq: 3})); !ok || d != (Dot{Origin: 1, Seq: 3}) {
		t.Fatal(d, ok)
	}
	if d, ok := f.Find(h.id(Dot{Origin: 2, Seq: 33})); ok { // its number is that of 2:1, which is not in the clock
		t.Fatal(d)
	}
	if d, ok := f.Find(12345); ok {
		t.Fatal(d)
	}
	f.high[h.key.Mix(1)>>f.shift] = []reach{{1, 20}, {1, 20}}
	if d, ok := f.Find(h.id(Dot{Origin: 1, Seq: 3})); ok {
		t.Fatal("it guessed", d)
	}
}

// A sketch is kept only while there are enough items for it.
func TestSketchIsKeptFromSoManyItemsOn(t *testing.T) {
	r := NewReplica(1, StoreOptions{SketchCells: 100, SketchFrom: 50})
	has := func(n int, kept bool) {
		t.Helper()
		if s := r.Store(); s.Len() != n || (s.Pin().sketch != nil) != kept || s.Check() != nil {
			t.Fatalf("%d items, want %d; sketch %v; %v", s.Len(), n, s.Pin().sketch != nil, s.Check())
		}
	}
	add := func(from, to int, remove bool) {
		for i := from; i < to; i++ {
			mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
				if remove {
					return s.Remove(fmt.Sprint(i))
				}
				return s.Add(fmt.Sprint(i))
			}))
		}
	}
	add(0, 49, false)
	has(49, false)
	add(49, 50, false)
	has(50, true)
	add(25, 50, true)
	has(25, true)
	add(24, 25, true)
	has(24, false)
	if s := NewStore(StoreOptions{SketchFrom: 1}); s.opt.SketchCells != 0 || s.Pin().sketch != nil {
		t.Fatal("a sketch without a setting that asks for it")
	}
}

// BenchmarkSketchedApply is BenchmarkApply with a sketch of so many cells beside it.
func BenchmarkSketchedApply(b *testing.B) {
	from := NewReplica(2, StoreOptions{})
	gs := make([]Group, 400_000)
	for i := range gs {
		gs[i] = mustUpdate(b, from, "s",
			Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(benchElement(i)) }))
	}
	for _, cells := range []int{0, 1024, 16384} {
		b.Run(fmt.Sprintf("cells=%d", cells), func(b *testing.B) {
			var to *Store
			var ch Changes
			for i := range b.N {
				if i%len(gs) == 0 {
					to = NewStore(StoreOptions{SketchCells: cells, SketchFrom: 1})
				}
				ch.Reset()
				if out, err := to.Apply(gs[i%len(gs)], &ch); out != Applied || err != nil {
					b.Fatal(out, err)
				}
			}
		})
	}
}
