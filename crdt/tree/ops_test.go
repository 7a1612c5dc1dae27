package tree

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// treeOps plays operations on a tree and on a map, which is what the tree must be. Paths are few
// shapes with a number in them, so that neighbours share beginnings of every length; runs of one
// kind of operation fill, split and empty whole nodes.
type treeOps struct {
	tree   *Tree[*item, byPath]
	want   map[string]*item
	cursor Cursor[*item, byPath] // as the last search left it, which may have been for another place
	stamps uint64
	forks  []forked
}

// pathShapes are numbers that sort otherwise than they count, those that sort as they count,
// upwards and downwards, deep and binary ones.
var pathShapes = []func(n int) string{
	func(n int) string { return "\x02e" + strconv.Itoa(n) },
	func(n int) string { return fmt.Sprintf("\x02%08d", n) },
	func(n int) string { return fmt.Sprintf("\x02%08d", 1<<24-n) },
	func(n int) string { return strings.Repeat("deep/", n%7) + strconv.Itoa(n/7) },
	func(n int) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n)<<20)) },
	func(n int) string { return strings.Repeat("\x00", n%40) + strings.Repeat("\xff", n/40%20) },
	func(n int) string { return strconv.Itoa(n) + strings.Repeat("x", n%300) },
}

// step plays one run of operations: what to do, on which shape, from which number on, with which
// stride, how often.
func (o *treeOps) step(op, shape, from, stride, count int) error {
	path := pathShapes[shape%len(pathShapes)]
	switch op % 9 {
	case 8: // all anew, at once
		return o.rebuild(from)
	case 0:
		o.forks = append(o.forks, forked{forkOf(o.tree, &o.stamps), maps.Clone(o.want)})
	case 1: // the first ones, whatever they are
		for _, p := range slices.Sorted(maps.Keys(o.want))[:min(count, len(o.want))] {
			o.remove(p)
		}
	case 2: // write on in a fork; the old tree stays as it is
		if n := len(o.forks); n > 0 {
			o.forks[from%n], o.tree, o.want = forked{o.tree, o.want}, o.forks[from%n].tree, o.forks[from%n].want
		}
	case 3, 4:
		for i := range count {
			o.remove(path(from + i*stride))
		}
	default:
		for i := range count {
			p := path(from + i*stride)
			it := &item{p}
			if err := o.seek(p); err != nil {
				return err
			}
			if prev := o.tree.Set(it, &o.cursor); prev != o.want[p] {
				return fmt.Errorf("set %q returned %v", p, prev)
			}
			o.want[p] = it
		}
	}
	return o.check()
}

// rebuild makes a tree of what the old one holds, and of several entries at some places.
func (o *treeOps) rebuild(from int) error {
	var all []*item
	others := 0
	for p, it := range o.want {
		all = append(all, it)
		for range len(p) * from % 3 {
			all = append(all, &item{p})
			others++
		}
	}
	rng := rand.New(rand.NewPCG(uint64(from), uint64(len(all))))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var loose Loose[*item, byPath]
	for _, it := range all {
		loose.Add(it)
	}
	tree := loose.Tree(func(same []*item) *item {
		others -= len(same) - 1
		p := same[0].path
		if !slices.Contains(same, o.want[p]) || slices.ContainsFunc(same, func(it *item) bool { return it.path != p }) {
			return nil
		}
		return o.want[p]
	})
	if o.tree = &tree; others != 0 {
		return fmt.Errorf("%d entries are not asked for", others)
	}
	return o.check()
}

// seek looks for a path with the writer's cursor.
func (o *treeOps) seek(p string) error {
	if got := o.tree.Seek(p, &o.cursor); got != o.want[p] {
		return fmt.Errorf("seek %q returned %v", p, got)
	}
	return nil
}

func (o *treeOps) remove(p string) {
	if o.want[p] != nil {
		if len(o.want)%2 == 0 {
			o.tree.Seek(p, &o.cursor)
		}
		o.tree.Remove(p, &o.cursor)
		delete(o.want, p)
	}
}

func (o *treeOps) check() error {
	if err := o.tree.Check(); err != nil {
		return err
	}
	for _, f := range o.forks {
		if err := o.tree.CheckSince(f.tree); err != nil {
			return err
		}
	}
	return forked{o.tree, o.want}.check()
}

// check compares a tree with what it must hold: walks from the start and from within, lookups of
// what is there and of its neighbours.
func (f forked) check() error {
	sorted := slices.Sorted(maps.Keys(f.want))
	if f.tree.len != len(sorted) {
		return fmt.Errorf("counts %d paths of %d", f.tree.len, len(sorted))
	}
	k := 0
	f.tree.Ascend("", func(it *item) bool {
		k++
		return k <= len(sorted) && it == f.want[sorted[k-1]]
	})
	if k != len(sorted) {
		return fmt.Errorf("walks %d paths of %d, wrong from there", k, len(sorted))
	}
	for i, p := range sorted {
		if f.tree.Get(p) != f.want[p] {
			return fmt.Errorf("get %q", p)
		}
		if i%17 != 0 {
			continue
		}
		for _, near := range []string{p + "\x00", p[:max(0, len(p)-1)], p[:len(p)/2], p + "\xff"} {
			if f.tree.Get(near) != f.want[near] {
				return fmt.Errorf("get %q, beside %q", near, p)
			}
			at, _ := slices.BinarySearch(sorted, near)
			var first *item
			f.tree.Ascend(near, func(it *item) bool { first = it; return false })
			if at < len(sorted) && first != f.want[sorted[at]] || at == len(sorted) && first != nil {
				return fmt.Errorf("from %q begins with %v", near, first)
			}
		}
	}
	return nil
}

func (o *treeOps) checkForks() error {
	for i, f := range o.forks {
		if err := f.check(); err != nil {
			return fmt.Errorf("fork %d: %w", i, err)
		}
	}
	return nil
}

// drain removes everything, from both ends inwards.
func (o *treeOps) drain() error {
	sorted := slices.Sorted(maps.Keys(o.want))
	for i := range sorted {
		k := i / 2
		if i%2 == 0 {
			k = len(sorted) - 1 - k
		}
		o.remove(sorted[k])
		if r := o.tree.root; r != nil && (r.kids != nil && r.n == 1 || r.n == 0) {
			return fmt.Errorf("the root has %d kids or entries", r.n)
		}
		if i%97 == 0 {
			if err := o.check(); err != nil {
				return err
			}
		}
	}
	return o.check()
}

// TestTreeAgainstAMap grows trees of several levels, of thousands of numbered paths, and empties
// them again, from either end and in the middle, while forks look on.
func TestTreeAgainstAMap(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		o := &treeOps{tree: &Tree[*item, byPath]{}, want: map[string]*item{}}
		one := rng.IntN(2 * len(pathShapes)) // half of the worlds know one shape only
		for i := range 40 {
			shape := one
			if one >= len(pathShapes) {
				shape = rng.IntN(len(pathShapes))
			}
			stride := []int{1, 1, 2, 7, -1}[rng.IntN(5)]
			from, count := rng.IntN(6000), rng.IntN(1+[]int{3, 80, 1500}[rng.IntN(3)])
			if stride < 0 {
				from += count
			}
			if err := o.step(rng.IntN(9), shape, from, stride, count); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
		if err := o.drain(); err != nil {
			t.Fatalf("seed %d, emptying: %v", seed, err)
		}
		if err := o.checkForks(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// FuzzTree reads a run of operations from each six bytes.
func FuzzTree(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 1, 255, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 200, 5, 0, 0, 1, 1, 90})
	f.Fuzz(func(t *testing.T, b []byte) {
		o := &treeOps{tree: &Tree[*item, byPath]{}, want: map[string]*item{}}
		for i := 0; len(b) >= 6 && i < 40; i++ {
			from := int(b[2])<<8 | int(b[3])
			if err := o.step(int(b[0]), int(b[1]), from, 1+int(b[4]%8), 2*int(b[5])); err != nil {
				t.Fatal(err)
			}
			b = b[6:]
		}
		if err := o.checkForks(); err != nil {
			t.Fatal(err)
		}
	})
}
