package proptest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A remove takes away what was there for its maker and nothing else: not what it had not seen, and
// not what it had seen removed, which comes back for a replica that has the second removal and
// lacks the first.
func TestLive(t *testing.T) {
	p := &events[toyOp]{}
	seen := func(ids ...int) (b bits) {
		for _, id := range ids {
			b = b.with(id)
		}
		return b
	}
	for _, e := range []struct {
		op   toyOp
		seen bits
	}{
		{"+a", nil},           // 0
		{"-a", seen(0)},       // 1
		{"+a", nil},           // 2, concurrent with both
		{"-a", seen(0, 1, 2)}, // 3 takes 2; 0 was gone
		{"+b", seen(0)},       // 4
		{"0", seen(0, 4)},     // 5 takes both
	} {
		p.add(e.op, "k", 1, 0, e.seen)
	}
	p.add(toyOp("0"), "another key", 1, 0, seen(0, 1, 2, 3, 4)) // 6
	for _, c := range []struct {
		seen bits
		want string
	}{
		{nil, "[]"},
		{seen(0), "[0]"},
		{seen(0, 1), "[1]"},
		{seen(0, 2, 3), "[0 3]"},
		{seen(0, 1, 2), "[1 2]"},
		{seen(0, 4, 6), "[0 4]"},
		{seen(0, 4, 5, 6), "[5]"},
	} {
		var ids []int
		for _, e := range (History[toyOp]{p, "k", c.seen}).Live(func(later, earlier *Event[toyOp]) bool {
			return later.Op.takes(earlier.Op)
		}) {
			ids = append(ids, e.id)
		}
		if got := fmt.Sprint(ids); got != c.want {
			t.Errorf("of %v: %v, want %v", slices.Collect(c.seen.all()), got, c.want)
		}
	}
}

func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.IntRange(0, 200)).Draw(t, "ids")
		var b bits
		for _, id := range ids {
			b = b.with(id).or(bits(nil).with(id))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		if got := slices.Collect(b.all()); !slices.Equal(got, ids) {
			t.Fatal(got, ids)
		}
		if len(ids) > 0 && b.end() != ids[len(ids)-1]+1 || len(ids) == 0 && b.end() != 0 {
			t.Fatal(b.end(), ids)
		}
	})
}
