package dots

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clockModel is a clock as a plain set.
type clockModel map[Dot]bool

func drawRange(t *rapid.T) Range {
	first := rapid.Uint64Range(1, 24).Draw(t, "first")
	o := Origin(rapid.IntRange(1, 3).Draw(t, "origin"))
	return Range{Origin: o, First: first, Last: first + rapid.Uint64Range(0, 5).Draw(t, "more")}
}

func drawClock(t *rapid.T) (*Clock, clockModel) {
	c, m := &Clock{}, clockModel{}
	for range rapid.IntRange(0, 12).Draw(t, "ranges") {
		r := drawRange(t)
		if rapid.Bool().Draw(t, "single") {
			d := Dot{r.Origin, r.First}
			if c.Add(d) == m[d] {
				t.Fatalf("Add(%v) is wrong about news", d)
			}
			m[d] = true
			continue
		}
		c.AddRange(r.Origin, r.First, r.Last)
		for s := r.First; s <= r.Last; s++ {
			m[Dot{r.Origin, s}] = true
		}
	}
	return c, m
}

func (m clockModel) clock() *Clock {
	c := &Clock{}
	for d := range m {
		c.Add(d)
	}
	return c
}

func (m clockModel) minus(o clockModel) clockModel {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(d Dot, _ bool) bool { return o[d] })
	return out
}

func mustBe(t *rapid.T, what string, c *Clock, m clockModel) {
	t.Helper()
	if want := m.clock(); !c.Equal(want) || c.Hash() != want.Hash() || c.Len() != uint64(len(m)) ||
		c.Empty() != (len(m) == 0) {
		t.Fatalf("%s: %v, must be %v", what, c, want)
	}
	var dots clockModel = map[Dot]bool{}
	var prev Range
	for r := range c.Ranges() {
		if r.First > r.Last || r.Origin < prev.Origin || r.Origin == prev.Origin && r.First <= prev.Last+1 {
			t.Fatalf("%s: range %v after %v", what, r, prev)
		}
		prev = r
		for s := r.First; s <= r.Last; s++ {
			dots[Dot{r.Origin, s}] = true
		}
	}
	if !maps.Equal(dots, m) {
		t.Fatalf("%s: ranges hold %v, must be %v", what, dots, m)
	}
}

func TestClockIsASetOfDots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, ma := drawClock(t)
		b, mb := drawClock(t)
		mustBe(t, "a", a, ma)
		for o := Origin(1); o < 5; o++ {
			base, top := uint64(0), uint64(0)
			for s := uint64(1); s < 32; s++ {
				d := Dot{o, s}
				if a.Has(d) != ma[d] {
					t.Fatalf("Has(%v)", d)
				}
				if ma[d] {
					top = s
					if base == s-1 {
						base = s
					}
				}
			}
			if a.Base(o) != base || a.Max(o) != top || a.Of(o).Max(o) != top || a.Minus(a.Of(o)).Max(o) != 0 {
				t.Fatalf("base %d max %d, must be %d and %d", a.Base(o), a.Max(o), base, top)
			}
		}
		mustBe(t, "minus", a.Minus(b), ma.minus(mb))
		if got, want := a.Includes(b), len(mb.minus(ma)) == 0; got != want {
			t.Fatalf("%v includes %v: %v", a, b, got)
		}
		if a.Equal(b) != maps.Equal(ma, mb) || a.HasAll(slices.Collect(maps.Keys(mb))) != a.Includes(b) {
			t.Fatal("equal or has all")
		}
		mustBe(t, "and", a.And(b), ma.minus(ma.minus(mb)))
		at := Dot{Origin(rapid.IntRange(0, 4).Draw(t, "at")), rapid.Uint64Range(0, 30).Draw(t, "seq")}
		upTo := maps.Clone(ma)
		maps.DeleteFunc(upTo, func(d Dot, _ bool) bool { return d.Compare(at) > 0 })
		mustBe(t, "up to", a.UpTo(at), upTo)
		mustBe(t, "after", a.After(at), ma.minus(upTo))
		sizes := rapid.SliceOfN(rapid.Uint64Range(0, 9), 0, 5).Draw(t, "sizes")
		runs := a.Split(sizes)
		all, at := &Clock{}, Dot{}
		for i, run := range runs {
			left := a.After(at).Len()
			if want := min(left, append(slices.Clone(sizes), left)[i]); run.Len() != want {
				t.Fatalf("run %d of %v by %v is %v", i, a, sizes, run)
			}
			for r := range run.Ranges() {
				if (Dot{r.Origin, r.First}).Compare(at) <= 0 {
					t.Fatalf("run %d of %v by %v is %v, behind %v", i, a, sizes, run, at)
				}
				at = Dot{r.Origin, r.Last}
			}
			all.Join(run)
		}
		mustBe(t, "split", all, ma)
		if size := len(a.Append(nil)); size != a.Size() {
			t.Fatalf("%v has %d bytes, not %d", a, size, a.Size())
		}
		first, rest := a.CutBytes(rapid.IntRange(0, 40).Draw(t, "bytes"))
		both := rest.Clone()
		both.Join(first)
		mustBe(t, "cut", both, ma)
		last := Dot{}
		for r := range first.Ranges() {
			last = Dot{r.Origin, r.Last}
		}
		if first.Empty() != a.Empty() || !rest.Equal(a.After(last)) {
			t.Fatalf("%v was cut into %v and %v", a, first, rest)
		}
		j := a.Clone()
		j.Join(b)
		maps.Copy(mb, ma)
		mustBe(t, "join", j, mb)
		mustBe(t, "a is untouched", a, ma)
		if !j.Includes(a) || !j.Includes(b) {
			t.Fatal("join does not include its parts")
		}
	})
}

func TestClockEdges(t *testing.T) {
	var c Clock
	const top = math.MaxUint64
	if c.Add(Dot{1, 0}) || c.Has(Dot{1, 0}) || c.Has(Dot{1, 1}) || !c.Empty() || c.Max(1) != 0 {
		t.Fatal("the empty clock", &c)
	}
	c.AddRange(1, 0, 0)
	c.AddRange(1, 5, 4)
	if !c.Empty() {
		t.Fatal(&c)
	}
	c.AddRange(1, top-1, top)
	c.AddRange(1, 1, 3)
	if c.Has(Dot{1, top - 2}) || !c.Has(Dot{1, top}) || c.Max(1) != top || c.Len() != 5 {
		t.Fatal(&c)
	}
	back, err := decode(c.Append(nil))
	if err != nil || !back.Equal(&c) {
		t.Fatal(back, err)
	}
	var all Clock
	all.AddRange(1, 1, top)
	if got := all.Minus(&c); got.Len() != top-5 || got.Max(1) != top-2 {
		t.Fatal(got)
	}
	c.AddRange(1, 4, top-2)
	if !c.Equal(&all) || c.Base(1) != top {
		t.Fatal(&c)
	}
	c.AddRange(2, 1, top)
	if c.Len() != top {
		t.Fatal(c.Len())
	}
}

// Joining many new origins costs a pass, not one per origin.
func TestJoinOfManyOrigins(t *testing.T) {
	const n = 200_000
	var even, odd, all Clock
	for i := range Origin(n) {
		all.AddRange(i+1, 1, uint64(i)+1)
	}
	for i := range all.rows {
		half := &even
		if i%2 == 0 {
			half = &odd
		}
		half.rows = append(half.rows, all.rows[i].clone())
	}
	few, begun := &Clock{rows: slices.Clone(odd.rows[:10])}, even.Clone()
	begun.Join(few)
	few.Join(&even)
	if !few.Equal(begun) {
		t.Error("a few are joined with many, or many with few, wrong")
	}
	began := time.Now()
	even.Join(&odd)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if !even.Equal(&all) || len(odd.rows) != n/2 {
		t.Error("wrong")
	}
	var a, b Clock // of one origin, with holes
	for i := range uint64(n) {
		a.AddRange(1, 4*i+2, 4*i+2)
		b.AddRange(1, 4*i+4, 4*i+4)
	}
	began = time.Now()
	a.Join(&b)
	if took := time.Since(began); took > 5*time.Second || a.Len() != 2*n || !a.Includes(&b) {
		t.Errorf("holes: %d dots after %v", a.Len(), took)
	}
}

func TestClockPrintsItself(t *testing.T) {
	var c Clock
	c.AddRange(2, 1, 5)
	c.AddRange(2, 7, 7)
	c.AddRange(1, 3, 4)
	if got, want := c.String(), "{0000000000000001:3-4 0000000000000002:1-5,7}"; got != want {
		t.Fatal(got)
	}
}

func TestClockReadsAllocateNothing(t *testing.T) {
	var c, o Clock
	for i := range uint64(50) {
		c.AddRange(Origin(i*i), 1, 100)
		o.AddRange(Origin(i*i), 1, 99)
	}
	next := uint64(100)
	if n := testing.AllocsPerRun(100, func() {
		next++
		if !c.Includes(&o) || !c.Has(Dot{49, 100}) || !c.Add(Dot{49, next}) || c.Equal(&o) {
			t.Error("wrong")
		}
	}); n != 0 {
		t.Fatal(n)
	}
}
