package crdt

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// seqShapes are the ways in which the live seqs of an origin lie: densely, sparsely, at the borders
// of the tree's nodes, at both ends of the range.
var seqShapes = []func(rng *rand.Rand) uint64{
	func(rng *rand.Rand) uint64 { return 1 + rng.Uint64N(300) },
	func(rng *rand.Rand) uint64 { return 1 + rng.Uint64N(1<<20) },
	func(rng *rand.Rand) uint64 { return 1<<(6*rng.Uint64N(11)) + rng.Uint64N(3) },
	func(rng *rand.Rand) uint64 { return 1<<(6*rng.Uint64N(10)+6) - 1 - rng.Uint64N(2) },
	func(rng *rand.Rand) uint64 { return math.MaxUint64 - rng.Uint64N(70) },
	func(rng *rand.Rand) uint64 { return 1 + rng.Uint64()>>rng.Uint64N(64) },
}

type pinnedIndex struct {
	index dotIndex
	want  map[Dot]*Item
}

// TestDotIndexIsAMap compares the index with a map, and every snapshot of it with what it was.
func TestDotIndexIsAMap(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		shape := seqShapes[rng.IntN(len(seqShapes))]
		x, gen, want := dotIndex{}, uint64(1), map[Dot]*Item{}
		var pins []pinnedIndex
		for range 600 {
			d := Dot{Origin: Origin(rng.IntN(4)), Seq: max(1, shape(rng))}
			switch rng.IntN(20) {
			case 0:
				pins = append(pins, pinnedIndex{x.snapshot(), maps.Clone(want)})
				gen++
			case 1, 2, 3, 4, 5, 6:
				if got := x.remove(gen, d); got != want[d] {
					t.Fatalf("seed %d: removed %v at %v", seed, got, d)
				}
				delete(want, d)
			default:
				if want[d] == nil {
					want[d] = &Item{Dot: d}
					x.put(gen, want[d])
				}
			}
		}
		for _, p := range append(pins, pinnedIndex{x, want}) {
			if err := p.check(shape, rng); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, d := range slices.SortedFunc(maps.Keys(want), Dot.Compare) {
			x.remove(gen, d)
		}
		if len(x.rows) > 0 {
			t.Fatalf("seed %d: %d rows of nothing", seed, len(x.rows))
		}
	}
}

func (p *pinnedIndex) check(shape func(*rand.Rand) uint64, rng *rand.Rand) error {
	if n := p.index.count(); n != len(p.want) {
		return fmt.Errorf("counts %d of %d", n, len(p.want))
	}
	for d, it := range p.want {
		if p.index.get(d) != it {
			return fmt.Errorf("lost %v", d)
		}
	}
	for range 200 {
		if d := (Dot{Origin: Origin(rng.IntN(5)), Seq: shape(rng)}); p.index.get(d) != p.want[d] {
			return fmt.Errorf("found %v at %v", p.index.get(d), d)
		}
	}
	var c Clock
	for range rng.IntN(6) {
		a, b := shape(rng), shape(rng)
		c.AddRange(Origin(rng.IntN(5)), min(a, b), max(a, b))
	}
	after := Dot{Origin: Origin(rng.IntN(5)), Seq: shape(rng)}
	want := slices.SortedFunc(maps.Keys(p.want), Dot.Compare)
	want = slices.DeleteFunc(want, func(d Dot) bool { return !c.Has(d) || d.Compare(after) <= 0 })
	for it := range p.index.in(&c, after) {
		if len(want) == 0 || it != p.want[want[0]] {
			return fmt.Errorf("%v in %v after %v, where %v is due", it, &c, after, want)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Errorf("%v are not found in %v after %v", want, &c, after)
	}
	return nil
}
