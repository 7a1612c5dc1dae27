package tree

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// item is something at a path.
type item struct{ path string }

type byPath struct{}

func (byPath) Place(it *item) string { return it.path }

func element(i int) string { return fmt.Sprintf("element-%08d", i) }

// drawPath draws paths that share beginnings of different lengths, with zeros and ends within the
// four bytes that a node keeps.
func drawPath(t *rapid.T) string {
	head := rapid.SampledFrom([]string{
		"", "\x02", "\x02element-", "\x02element-long-common-beginning-", "\xff",
	}).Draw(t, "head")
	return head + strings.Repeat("\x00",
		rapid.IntRange(0, 2).Draw(t, "zeros")) + rapid.StringMatching(`[a-c]{0,12}`).Draw(t, "tail")
}

// forked is a tree that was forked off, and what it must always hold.
type forked struct {
	tree *Tree[*item, byPath]
	want map[string]*item
}

func forkOf(t *Tree[*item, byPath], stamps *uint64) *Tree[*item, byPath] {
	f := t.Fork(stamps)
	return &f
}

func TestTreeIsASortedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stamps uint64
		tree, want := &Tree[*item, byPath]{}, map[string]*item{}
		var forks []forked
		bulk := rapid.IntRange(0, 400).Draw(t, "bulk")
		for i := range bulk {
			p := "\x02element-" + element(i*7919%1000)
			want[p] = &item{p}
			tree.Set(want[p], nil)
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			p := drawPath(t)
			if len(want) > 0 && rapid.Bool().Draw(t, "known") {
				p = rapid.SampledFrom(slices.Sorted(maps.Keys(want))).Draw(t, "path")
			}
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				forks = append(forks, forked{forkOf(tree, &stamps), maps.Clone(want)})
			case 1, 2:
				if want[p] != nil {
					tree.Remove(p, nil)
					delete(want, p)
				}
			default:
				it := &item{p}
				if prev := tree.Set(it, nil); prev != want[p] {
					t.Fatalf("set %q returned %v", p, prev)
				}
				want[p] = it
			}
		}
		forks = append(forks, forked{tree, want})
		for _, f := range forks {
			checkTree(t, f.tree, f.want)
		}
	})
}

func checkTree(t *rapid.T, tree *Tree[*item, byPath], want map[string]*item) {
	t.Helper()
	sorted := slices.Sorted(maps.Keys(want))
	from := drawPath(t)
	i, _ := slices.BinarySearch(sorted, from)
	var got []string
	tree.Ascend(from, func(it *item) bool { got = append(got, it.path); return true })
	if !slices.Equal(got, sorted[i:]) || tree.len != len(want) {
		t.Fatalf("from %q: %d of %d:\n%q\n%q", from, tree.len, len(want), got, sorted[i:])
	}
	for p, it := range want {
		if tree.Get(p) != it {
			t.Fatalf("get %q", p)
		}
	}
	if tree.Get(from) != want[from] {
		t.Fatalf("get %q", from)
	}
	if len(sorted) > 0 {
		if first, last := tree.First(), tree.Last(); first.path != sorted[0] || last.path != sorted[len(sorted)-1] {
			t.Fatal("edges")
		}
	}
}

func TestTreeFillsNodesInOrder(t *testing.T) {
	tree := &Tree[*item, byPath]{}
	for i := range nodeMax * nodeMax {
		p := element(i)
		tree.Set(&item{p}, nil)
	}
	if n := tree.root.n; n != nodeMax {
		t.Fatal(n)
	}
}

// A tree that is made of loose entries has full nodes, and no more than these.
func TestLooseEntriesFillNodes(t *testing.T) {
	var loose Loose[*item, byPath]
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(nodeMax * nodeMax) {
		loose.Add(&item{element(i)})
	}
	tree := loose.Tree(nil)
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	for _, kid := range tree.root.kids {
		if kid == nil || kid.n != nodeMax {
			t.Fatalf("the root has %d kids, the leaves are not full", tree.root.n)
		}
	}
}

// TestTreeTakesLowerPathsThanItsFirst holds lows in order when the first kid has got paths below
// its own low and splits: e10 comes after e9 and sorts before e2.
func TestTreeTakesLowerPathsThanItsFirst(t *testing.T) {
	for name, path := range map[string]func(i int) string{
		"numbered":   func(i int) string { return "e" + strconv.Itoa(i) },
		"descending": func(i int) string { return element(1<<20 - i) },
	} {
		t.Run(name, func(t *testing.T) {
			tree := &Tree[*item, byPath]{}
			for i := range 1500 {
				tree.Set(&item{path(i)}, nil)
				if err := tree.Check(); err != nil {
					t.Fatalf("after %q: %v", path(i), err)
				}
			}
			for i := range 1500 {
				if tree.Get(path(i)) == nil {
					t.Fatalf("%q is gone", path(i))
				}
			}
		})
	}
}

// seek is written out for speed: it counts what is below.
func TestSeekCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		leads, n := blankLeads, 1+rng.IntN(nodeMax)
		for i := range leads[:n] {
			leads[i] = rng.Uint32N(100) * 0x0292_9292 // with ties, from end to end
		}
		slices.Sort(leads[:n])
		for _, l := range []uint32{0, leads[0], leads[n-1], leads[n/2], leads[n/2] + 1, rng.Uint32(), math.MaxUint32} {
			want := 0
			for _, x := range leads {
				if x < l {
					want++
				}
			}
			if got := seek(&leads, l); got != want {
				t.Fatalf("%d of %x are below %x, seek says %d", want, leads, l, got)
			}
		}
	}
}

// TestCheckSinceFindsWhatCheckFinds breaks a node that a write has made, among many that it shares.
func TestCheckSinceFindsWhatCheckFinds(t *testing.T) {
	for name, corrupt := range map[string]func(leaf *node[*item, byPath]){
		"a lead":      func(leaf *node[*item, byPath]) { leaf.leads[1]++ },
		"the order":   func(leaf *node[*item, byPath]) { leaf.entries[0] = leaf.entries[1] },
		"the skip":    func(leaf *node[*item, byPath]) { leaf.skip++ },
		"the end":     func(leaf *node[*item, byPath]) { leaf.entries[leaf.n-1] = &item{"zzz"} },
		"the low":     func(leaf *node[*item, byPath]) { leaf.low = "zzz" },
		"the entries": func(leaf *node[*item, byPath]) { leaf.n = 0 },
	} {
		var tree Tree[*item, byPath]
		var stamps uint64
		for i := range 10_000 {
			tree.Set(&item{fmt.Sprintf("%06d", i)}, nil)
		}
		before := tree.Fork(&stamps)
		const place = "003000"
		tree.Set(&item{place}, nil)
		if err := tree.CheckSince(&before); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leaf, _ := tree.find(place)
		corrupt(leaf)
		if tree.Check() == nil || tree.CheckSince(&before) == nil || before.Check() != nil {
			t.Errorf("%s: %v, %v, %v", name, tree.Check(), tree.CheckSince(&before), before.Check())
		}
	}
}

// TestSpotsGoStale replaces at spots: where the entry is still, and where it was moved, removed or frozen.
func TestSpotsGoStale(t *testing.T) {
	var stamps uint64
	for name, c := range map[string]struct {
		change func(tree *Tree[*item, byPath])
		want   bool
	}{
		"as it was":      {func(*Tree[*item, byPath]) {}, true},
		"another behind": {func(tree *Tree[*item, byPath]) { tree.Set(&item{element(31) + "x"}, nil) }, true},
		"another before": {func(tree *Tree[*item, byPath]) { tree.Set(&item{element(0) + "x"}, nil) }, false},
		"replaced":       {func(tree *Tree[*item, byPath]) { tree.Set(&item{element(30)}, nil) }, false},
		"removed":        {func(tree *Tree[*item, byPath]) { tree.Remove(element(30), nil) }, false},
		"forked":         {func(tree *Tree[*item, byPath]) { tree.Fork(&stamps) }, false},
		"forked and written": {func(tree *Tree[*item, byPath]) {
			tree.Fork(&stamps)
			tree.Set(&item{element(31)}, nil)
		}, false},
		"emptied": {func(tree *Tree[*item, byPath]) {
			for i := range 32 {
				tree.Remove(element(i), nil)
			}
		}, false},
		"split": {func(tree *Tree[*item, byPath]) {
			for i := range 64 {
				tree.Set(&item{element(i/2) + "y" + strconv.Itoa(i)}, nil)
			}
		}, false},
	} {
		tree := &Tree[*item, byPath]{}
		for i := range 32 {
			tree.Set(&item{element(i)}, nil)
		}
		was, spot := tree.Find(element(30))
		c.change(tree)
		is := tree.Get(element(30))
		e := &item{element(30)}
		if got := tree.Replace(was, e, spot); got != c.want {
			t.Errorf("%s: replaced: %v", name, got)
		}
		if c.want {
			is = e
		}
		if err := tree.Check(); err != nil || tree.Get(element(30)) != is {
			t.Errorf("%s: %v, finds %v", name, err, tree.Get(element(30)))
		}
	}
}
