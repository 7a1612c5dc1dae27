package crdt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Touched finds the keys of exactly the events asked for, in whatever order they came, or says that
// it cannot.
func TestTouchedNamesTheKeysOfTheEventsAskedFor(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := NewStore(StoreOptions{LogMax: 4 + rng.IntN(200)})
		type event struct {
			dot Dot
			key string
		}
		var made []event
		for o := range Origin(3) {
			for i := range uint64(40) {
				made = append(made, event{Dot{Origin: o + 1, Seq: i + 1}, fmt.Sprint("k", rng.IntN(5))})
			}
		}
		rng.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
		for _, e := range made {
			if _, err := s.Apply(Group{
				{Dot: e.dot, Key: e.key, Path: "\x02x", Puts: rng.IntN(2) == 0},
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(2) == 0 {
			stable := &Clock{}
			stable.AddRange(1, 1, rng.Uint64N(40))
			s.Trim(stable)
		}
		dots, want, kept := &Clock{}, map[string]int{}, true
		for _, e := range made {
			if rng.IntN(10) == 0 {
				dots.Add(e.dot)
				want[e.key]++
				kept = kept && !s.Floor().Has(e.dot)
			}
		}
		got := map[string]int{}
		all := s.Touched(dots, func(key string) { got[key]++ })
		if all != kept {
			t.Fatalf("seed %d: all is %v, the log holds them all is %v", seed, all, kept)
		}
		if all && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

func TestTouchedSaysWhenItCannotTell(t *testing.T) {
	a := NewReplica(1, StoreOptions{})
	put := func(key string) func(*Tx) error { return func(tx *Tx) error { return tx.Replace("\x02x", "") } }
	for i := range touchedMax + 1 {
		if _, err := a.Update(fmt.Sprint("k", i%3), 0, put(""), nil); err != nil {
			t.Fatal(err)
		}
	}
	none := func(string) {}
	c := a.Store().Clock()
	if a.Store().Touched(c, none) {
		t.Error("they are too many")
	}
	few := &Clock{}
	few.AddRange(1, 2, touchedMax)
	if !a.Store().Touched(few, none) || !a.Store().Touched(&Clock{}, none) {
		t.Error("they are all in the log")
	}
	few.AddRange(2, 1, 1)
	if a.Store().Touched(few, none) {
		t.Error("the other origin is unknown here")
	}
	b := NewStore(StoreOptions{})
	items := slices.Collect(a.Store().Snapshot().Items())
	var list []Item
	for _, it := range items {
		list = append(list, *it)
	}
	if err := b.Merge(c, func(Dot) bool { return true }, list, nil); err != nil {
		t.Fatal(err)
	}
	one := &Clock{}
	one.AddRange(1, 5, 5)
	if b.Touched(one, none) {
		t.Error("what came by a merge is not in the log")
	}
}
