package crdt

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt/tree"
)

// naiveDiff compares two readers item by item.
func naiveDiff(before, now Reader) (out []string) {
	a, b := map[Dot]bool{}, map[Dot]bool{}
	for it := range before.Items("") {
		a[it.Dot] = true
	}
	for it := range now.Items("") {
		if b[it.Dot] = true; !a[it.Dot] {
			out = append(out, fmt.Sprint(it.Path, it.Dot, true))
		}
	}
	for it := range before.Items("") {
		if !b[it.Dot] {
			out = append(out, fmt.Sprint(it.Path, it.Dot, false))
		}
	}
	slices.Sort(out)
	return out
}

func treeDiff(t interface{ Fatalf(string, ...any) }, before, now Reader) (out []string) {
	last := ""
	for it, added := range Diff(before, now) {
		if it.Path < last {
			t.Fatalf("%q comes after %q", it.Path, last)
		}
		last = it.Path
		out = append(out, fmt.Sprint(it.Path, it.Dot, added))
	}
	slices.Sort(out)
	return out
}

// Diff says what a comparison item by item says, of any two moments of a key, whichever came first:
// small and large ones, with siblings, with what is hidden, below a prefix, from one replica or
// from two.
func TestDiffIsTheNaiveComparison(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		reps := []*Replica{NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})}
		var ch Changes
		exchange := func(from, to *Replica) {
			gs, more, covered := from.Store().Missing(to.Store().Clock(), 1<<30)
			if more || !covered {
				rt.Fatal("the log does not cover it")
			}
			for _, g := range gs {
				if _, err := to.Apply(g, &ch); err != nil {
					rt.Fatal(err)
				}
			}
		}
		var moments []Reader
		for range rapid.IntRange(1, 12).Draw(rt, "ops") {
			r := reps[rapid.IntRange(0, 1).Draw(rt, "replica")]
			from, count := rapid.IntRange(0, 6000).Draw(rt, "from"),
				rapid.SampledFrom([]int{1, 3, 40, 500, 5000}).Draw(rt, "count")
			switch op := rapid.IntRange(0, 7).Draw(rt, "op"); op {
			case 0, 1, 2, 3, 4:
				_, err := r.Update("k", 0, func(tx *Tx) error {
					set := (ORSet[string]{}).Mutator(tx.Under([]string{"\x50", "\x51"}[from%2]))
					for n := range count {
						if op < 3 {
							_ = set.Add(fmt.Sprint(from + n))
						} else {
							_ = set.Remove(fmt.Sprint(from + n))
						}
					}
					return nil
				}, &ch)
				if err != nil {
					rt.Fatal(err)
				}
			case 5:
				_, err := r.Update("own", 0, func(tx *Tx) error {
					return (NodeSet[string]{}).Mutator(tx).Add(fmt.Sprint(from))
				}, &ch)
				if err != nil {
					rt.Fatal(err)
				}
			case 6:
				r.SetLiving(NewLiving(Origin(1+from%3)), &ch)
			case 7:
				exchange(reps[0], reps[1])
				exchange(reps[1], reps[0])
			}
			v := r.Store().View("k")
			moments = append(moments, v, v.Under("\x50"), r.Store().View("own"))
		}
		moments = append(moments, Reader{}, reps[0].Store().View("k"), reps[1].Store().View("k"))
		for range 8 {
			before, now := rapid.SampledFrom(moments).Draw(rt, "before"), rapid.SampledFrom(moments).Draw(rt, "now")
			if got, want := treeDiff(rt, before, now), naiveDiff(before, now); !slices.Equal(got, want) {
				rt.Fatalf("%d differ, want %d\n%.300q\n%.300q", len(got), len(want), got, want)
			}
			for range Diff(before, now) {
				break // the loop panics if it is gone on with
			}
		}
	})
}

// What is looked at grows with the change and the height of the tree, and not with the size of the
// key, from the smallest change to the largest.
func TestDiffLooksAtWhatChangedOnly(t *testing.T) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		r := NewReplica(1, StoreOptions{})
		var ch Changes
		change := func(add, remove, from int) Reader {
			t.Helper()
			if _, err := r.Update("k", 0, func(tx *Tx) error {
				set := (ORSet[string]{}).Mutator(tx)
				for i := range add {
					if err := set.Add(fmt.Sprintf("%08d", (from+i)*7919%10_000_000)); err != nil {
						return err
					}
				}
				for i := range remove {
					if err := set.Remove(fmt.Sprintf("%08d", (from+i)*7919%10_000_000)); err != nil {
						return err
					}
				}
				return nil
			}, &ch); err != nil {
				t.Fatal(err)
			}
			ch.Reset()
			return r.Store().View("k")
		}
		before := Reader{}
		for from := 0; from < size; from += 1000 {
			before = change(1000, 0, from)
		}
		for i, c := range []struct{ add, remove int }{{1, 0}, {0, 1}, {10, 0}, {0, 10}, {100, 0}, {0, 100}, {500, 0}} {
			from := size + 1000*i
			if c.remove > 0 {
				from = 100 * i
			}
			now := change(c.add, c.remove, from)
			changed := c.add + c.remove
			var places int
			opened := tree.Diff(&bigOf(before.ks.more).firsts, &bigOf(now.ks.more).firsts, func(string) { places++ })
			back := tree.Diff(&bigOf(now.ks.more).firsts, &bigOf(before.ks.more).firsts, func(string) {})
			if places != changed {
				t.Fatalf("size %d: %d places differ, want %d", size, places, changed)
			}
			// two paths of three nodes, and their neighbours when one splits
			if most := 9*changed + 4; opened > most || back != opened {
				t.Errorf("size %d: %d nodes were opened (%d the other way) for %d changes, at most %d",
					size, opened, back, changed, most)
			}
			before = now
		}
		firsts := &bigOf(before.ks.more).firsts
		if opened := tree.Diff(firsts, firsts, func(string) {}); opened != 0 {
			t.Errorf("%d nodes were opened of the same tree", opened)
		}
	}
}

// TestDiffAllocatesLittle: what differs is yielded as it is found, if no path has siblings.
func TestDiffAllocatesLittle(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	var moments []Reader
	for from := range 2 {
		if _, err := r.Update("k", 0, Mutate[ORSet[int]](func(s *ORSetTx[int]) error {
			for i := range 1000 {
				if err := s.Add(2*i + from); err != nil {
					return err
				}
			}
			return nil
		}), &Changes{}); err != nil {
			t.Fatal(err)
		}
		moments = append(moments, r.Store().View("k"))
	}
	if n := testing.AllocsPerRun(10, func() {
		differ := 0
		for range Diff(moments[0], moments[1]) {
			differ++
		}
		if differ != 1000 {
			t.Errorf("%d differ", differ)
		}
	}); n > 10 {
		t.Errorf("%v allocations for 1,000 items", n)
	}
}
