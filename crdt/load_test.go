package crdt

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// mixedItems are items of a few keys: most of them plain, many at paths of others, and some with marks.
func mixedItems(rng *rand.Rand, n int) (items []Item) {
	next := map[Origin]uint64{}
	for range n {
		o := Origin(1 + rng.IntN(3))
		next[o]++
		it := Item{Dot: Dot{Origin: o, Seq: next[o]}, Key: fmt.Sprint("key-", rng.IntN(4))}
		switch k := rng.IntN(400); {
		case k == 0:
			it.Path = KindNodeSet.Path() + "of a node"
		case k == 1:
			it.Path = deletedPath
		case k < 10: // half of them are folded counts, some without an anchor
			it.Path = string(binary.BigEndian.AppendUint64([]byte(KindGCounter.Path()), uint64(1+rng.IntN(3))))
			it.Payload = string(appendCount(nil, 1))
		case k < 100:
			it.Path = KindORSet.Path() + fmt.Sprint("shared-", rng.IntN(n/20))
		default:
			it.Path = KindORSet.Path() + fmt.Sprint("element-", rng.Uint64())
		}
		items = append(items, it)
	}
	return items
}

// A store that is loaded holds what one holds to which the items came one by one.
func TestLoadIsLikeMerge(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		items := mixedItems(rng, 20+rng.IntN(3000))
		want, got := NewStore(StoreOptions{SketchCells: 64}), NewStore(StoreOptions{SketchCells: 64, SketchFrom: 1000})
		var clock Clock
		for i := range items {
			clock.Add(items[i].Dot)
		}
		if err := want.MergeDiff(&clock, nil, items, nil); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			slices.SortFunc(items, func(a, b Item) int { return a.Dot.Compare(b.Dot) }) // as rows are
		}
		if err := got.Load(&clock, want.Digest(), asRows(items, nil)); err != nil {
			t.Fatal(err)
		}
		if err := got.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if a, b := itemsOf(want.Snapshot()), itemsOf(got.Snapshot()); !slices.Equal(a, b) {
			t.Fatalf("seed %d: %d items, loaded %d", seed, len(a), len(b))
		}
	}
}
