package iblt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pair is two sets that differ.
type pair struct {
	key    Key
	a, b   *Sketch
	differ []uint64 // sorted
}

func newPair(rng *rand.Rand, same, differ, cells int) *pair {
	p := &pair{key: NewKey(rng.Uint64())}
	p.a, p.b = New(p.key, cells), New(p.key, cells)
	for range same {
		id := rng.Uint64()
		p.a.Toggle(id)
		p.b.Toggle(id)
	}
	base := rng.Uint64()
	for i := range differ {
		id := base + uint64(i) // numbers in a row, as dots make them
		p.differ = append(p.differ, id)
		[]*Sketch{p.a, p.b}[rng.IntN(2)].Toggle(id)
	}
	slices.Sort(p.differ)
	return p
}

// needed returns how many cells it takes to decode, at steps of step.
func (p *pair) needed(t *testing.T, step int) int {
	d := NewDecoder(p.key, func(uint64) bool { return true })
	for d.Len() < p.a.Len() {
		at := d.Len()
		end := min(at+step, p.a.Len())
		d.Add(p.a.Cells()[at:end], p.b.Cells()[at:end])
		for d.Peel(1 << 20) {
		}
		if d.Bad() {
			t.Fatalf("%d differences: bad after %d cells", len(p.differ), d.Len())
		}
		if d.Done() {
			got := slices.Sorted(slices.Values(d.Found()))
			if !slices.Equal(got, p.differ) {
				t.Fatalf("%d differences, found %d others", len(p.differ), len(got))
			}
			return d.Len()
		}
	}
	t.Fatalf("%d differences do not decode from %d cells", len(p.differ), p.a.Len())
	return 0
}

// Yang et al. report 1.35 cells per difference in the limit; the blocks cost a little more.
func TestCellsPerDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		differ, runs int
		most         float64 // mean cells per difference
	}{
		{1, 100, 1}, {2, 200, 2.2}, {8, 200, 2.1}, {32, 100, 1.75}, {100, 100, 1.6}, {1000, 20, 1.48},
		{10_000, 3, 1.45}, {40_000, 1, 1.45},
	} {
		sum := 0.0
		for range c.runs {
			sum += float64(newPair(rng, 100, c.differ, 3*c.differ+60).needed(t, max(1, c.differ/100)))
		}
		mean := sum / float64(c.runs) / float64(c.differ)
		t.Logf("%d differences: %.3f cells each", c.differ, mean)
		if mean > c.most {
			t.Errorf("%d differences: %.3f cells each, at most %.2f", c.differ, mean, c.most)
		}
	}
}

func TestEqualSetsNeedOneCell(t *testing.T) {
	p := newPair(rand.New(rand.NewPCG(2, 2)), 1000, 0, 16)
	if n := p.needed(t, 1); n != 1 {
		t.Fatalf("%d cells", n)
	}
}

func TestTogglingTwiceIsNothingAndAPrefixIsASketch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := NewKey(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(1, 3000).Draw(t, "cells")
		long, short, odd := New(key, n), New(key, rapid.IntRange(1, n).Draw(t, "prefix")), map[uint64]bool{}
		for _, id := range rapid.SliceOf(rapid.Uint64Range(0, 20)).Draw(t, "ids") {
			long.Toggle(id)
			short.Toggle(id)
			odd[id] = !odd[id]
		}
		again := New(key, n)
		for id, in := range odd {
			if in {
				again.Toggle(id)
			}
		}
		if !slices.Equal(long.Cells(), again.Cells()) ||
			!slices.Equal(long.Prefix(short.Len()).Cells(), short.Cells()) {
			t.Fatal("cells differ")
		}
	})
}

// The cells are what travels: two programs that disagree about them cannot repair each other.
func TestCellsAreTheSameOnEveryMachine(t *testing.T) {
	s := New(NewKey(42), 2000)
	for id := range uint64(1000) {
		s.Toggle(id * 0x9e3779b97f4a7c15)
	}
	sum := uint64(0)
	for i, c := range s.Cells() {
		sum = fold(sum^c.ID+uint64(i), 0x9e3779b97f4a7c15^uint64(c.Check))
	}
	if want := uint64(0xd7ab6f3abd9fccca); sum != want {
		t.Fatalf("the cells sum to %#x, want %#x", sum, want)
	}
}

func TestEstimateIsClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, differ := range []int{100, 300, 1000, 5000} {
		for range 20 {
			p := newPair(rng, 0, differ, differ)
			d := NewDecoder(p.key, func(uint64) bool { return true })
			d.Add(p.a.Cells()[:differ/4], p.b.Cells()[:differ/4])
			d.Add(p.a.Cells()[differ/4:], p.b.Cells()[differ/4:])
			n, ok := d.Estimate()
			if !ok || n < differ/2 || n > 2*differ {
				t.Errorf("%d differences, %d cells: estimate %d %v", differ, d.Len(), n, ok)
			}
		}
	}
	p := newPair(rng, 0, 100_000, 64)
	d := NewDecoder(p.key, func(uint64) bool { return true })
	d.Add(p.a.Cells(), p.b.Cells())
	if n, ok := d.Estimate(); ok {
		t.Errorf("64 cells tell %d", n)
	}
}

// Whatever cells a peer sends, the decoder stops, and finds no more numbers than there are cells.
func FuzzDecode(f *testing.F) {
	p := newPair(rand.New(rand.NewPCG(4, 4)), 10, 12, 40)
	f.Add(AppendCells(nil, p.a.Cells()), AppendCells(nil, p.b.Cells()), uint64(1))
	f.Add([]byte{}, bytes.Repeat([]byte{0}, 24), uint64(0))
	f.Fuzz(func(t *testing.T, x, y []byte, seed uint64) {
		a, err := DecodeCells(x)
		if (err != nil) != (len(x)%CellBytes != 0) || err != nil && !errors.Is(err, ErrCells) {
			t.Fatal(err)
		}
		b, _ := DecodeCells(y)
		if again := AppendCells(nil, a); err == nil && !bytes.Equal(again, x) {
			t.Fatalf("%x comes back as %x", x, again)
		}
		for _, real := range []func(uint64) bool{
			func(uint64) bool { return true }, func(id uint64) bool { return id&1 == 0 },
		} {
			d := NewDecoder(NewKey(seed), real)
			for range 3 {
				d.Add(a, b)
				for n := 0; d.Peel(8); n++ {
					if n > 64*(d.Len()+1) {
						t.Fatal("it does not stop")
					}
				}
				d.Estimate()
			}
			if len(d.Found()) > d.Len()+1 || d.Done() && d.Bad() {
				t.Fatalf("%d numbers in %d cells", len(d.Found()), d.Len())
			}
		}
	})
}

// A peer that knows the key can make one number come out again and again: taken out of some cells
// it stays in others.
func TestDecoderStopsOnCellsThatAreNoSketch(t *testing.T) {
	key := NewKey(7)
	one := New(key, 64)
	one.Toggle(99)
	cells := slices.Clone(one.Cells())
	for j := range cells {
		cells[j] = Cell{99, uint32(key.Mix(99))} // in every cell
	}
	d := NewDecoder(key, func(uint64) bool { return true })
	d.Add(cells, make([]Cell, len(cells)))
	for n := 0; d.Peel(4); n++ {
		if n > 1000 {
			t.Fatal("it does not stop")
		}
	}
	if d.Done() {
		t.Fatal("it believes them")
	}
}

func BenchmarkToggle(b *testing.B) {
	for _, n := range []int{64, 1024, 4096, 16384} {
		b.Run(fmt.Sprint("cells=", n), func(b *testing.B) {
			s := New(NewKey(1), n)
			id := uint64(1) << 60
			for b.Loop() {
				id++
				s.Toggle(id)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	p := newPair(rand.New(rand.NewPCG(1, 1)), 0, 10_000, 14_800)
	for b.Loop() {
		d := NewDecoder(p.key, func(uint64) bool { return true })
		d.Add(p.a.Cells(), p.b.Cells())
		for d.Peel(1 << 20) {
		}
		if !d.Done() {
			b.Fatal("not decoded")
		}
	}
}
