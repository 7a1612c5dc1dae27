package index

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt/dots"
)

// item is what the tests enter.
type item struct{ dots.Dot }

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
	index Index[*item]
	want  map[dots.Dot]*item
}

// TestIndexIsAMap compares the index with a map, and every snapshot of it with what it was.
func TestIndexIsAMap(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		shape := seqShapes[rng.IntN(len(seqShapes))]
		x, want := Index[*item]{}, map[dots.Dot]*item{}
		var pins []pinnedIndex
		for range 600 {
			d := dots.Dot{Origin: dots.Origin(rng.IntN(4)), Seq: max(1, shape(rng))}
			switch rng.IntN(20) {
			case 0:
				pins = append(pins, pinnedIndex{x.Snapshot(), maps.Clone(want)})
			case 1, 2, 3, 4, 5, 6:
				if got := x.Remove(d); got != want[d] {
					t.Fatalf("seed %d: removed %v at %v", seed, got, d)
				}
				delete(want, d)
			default:
				if want[d] == nil {
					want[d] = &item{d}
					x.Put(d, want[d])
				}
			}
		}
		for _, p := range append(pins, pinnedIndex{x, want}) {
			if err := p.check(shape, rng); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := p.differs(&x, want); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, d := range slices.SortedFunc(maps.Keys(want), dots.Dot.Compare) {
			x.Remove(d)
		}
		if len(x.rows) > 0 {
			t.Fatalf("seed %d: %d rows of nothing", seed, len(x.rows))
		}
	}
}

func (p *pinnedIndex) check(shape func(*rand.Rand) uint64, rng *rand.Rand) error {
	if n := p.index.Count(); n != len(p.want) {
		return fmt.Errorf("counts %d of %d", n, len(p.want))
	}
	for d, it := range p.want {
		if p.index.Get(d) != it {
			return fmt.Errorf("lost %v", d)
		}
	}
	for range 200 {
		if d := (dots.Dot{Origin: dots.Origin(rng.IntN(5)), Seq: shape(rng)}); p.index.Get(d) != p.want[d] {
			return fmt.Errorf("found %v at %v", p.index.Get(d), d)
		}
	}
	var c dots.Clock
	for range rng.IntN(6) {
		a, b := shape(rng), shape(rng)
		c.AddRange(dots.Origin(rng.IntN(5)), min(a, b), max(a, b))
	}
	after := dots.Dot{Origin: dots.Origin(rng.IntN(5)), Seq: shape(rng)}
	want := slices.SortedFunc(maps.Keys(p.want), dots.Dot.Compare)
	want = slices.DeleteFunc(want, func(d dots.Dot) bool { return !c.Has(d) || d.Compare(after) <= 0 })
	for it := range p.index.In(&c, after) {
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

// differs compares what Diff says of a pinned state and the last one with the maps.
func (p *pinnedIndex) differs(now *Index[*item], want map[dots.Dot]*item) (err error) {
	is := maps.Clone(p.want)
	var last dots.Dot
	Diff(&p.index, now, func(a, b *item) {
		d := a
		if d == nil {
			d = b
		}
		if a == b || is[d.Dot] != a || d.Compare(last) <= 0 {
			err = fmt.Errorf("%v became %v, after %v", a, b, last)
		}
		if last = d.Dot; b == nil {
			delete(is, d.Dot)
		} else {
			is[d.Dot] = b
		}
	})
	if err == nil && !maps.Equal(is, want) {
		err = fmt.Errorf("%d entries became %d of %d", len(p.want), len(is), len(want))
	}
	return err
}
