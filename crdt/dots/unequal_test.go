package dots

import (
	"maps"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// drawWide draws a clock of so many origins at most out of the first 300, each with holes. Every
// second clock has a row of many intervals.
func drawWide(t *rapid.T, origins int) (*Clock, clockModel) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	c, m := &Clock{}, clockModel{}
	add := func(o Origin, first, last uint64) {
		c.AddRange(o, first, last)
		for seq := first; seq <= last; seq++ {
			m[Dot{o, seq}] = true
		}
	}
	for range rapid.IntRange(0, origins).Draw(t, "origins") {
		o := Origin(rng.IntN(300) + 1)
		for range 1 + rng.IntN(3) {
			first := 1 + rng.Uint64N(8)
			add(o, first, first+rng.Uint64N(4))
		}
	}
	if rapid.Bool().Draw(t, "holes") {
		o := Origin(rng.IntN(3) + 1)
		for range 150 {
			first := 1 + rng.Uint64N(600)
			add(o, first, first+rng.Uint64N(2))
		}
	}
	return c, m
}

// Clocks and rows of which one is much smaller are searched instead of walked over. Both ways give
// what the plain definition says.
func TestClocksOfUnequalSizes(t *testing.T) {
	sizes := []int{0, 1, 3, 300}
	rapid.Check(t, func(t *rapid.T) {
		a, ma := drawWide(t, rapid.SampledFrom(sizes).Draw(t, "a"))
		b, mb := drawWide(t, rapid.SampledFrom(sizes).Draw(t, "b"))
		if rapid.Bool().Draw(t, "part") { // so that one includes the other
			maps.DeleteFunc(mb, func(d Dot, _ bool) bool { return !ma[d] })
			b = mb.clock()
		}
		for _, way := range []struct {
			x, y   *Clock
			mx, my clockModel
		}{{a, b, ma, mb}, {b, a, mb, ma}, {a, a, ma, ma}} {
			x, y, mx, my := way.x, way.y, way.mx, way.my
			mustBe(t, "minus", x.Minus(y), mx.minus(my))
			if got, want := x.Includes(y), len(my.minus(mx)) == 0; got != want {
				t.Fatalf("%v includes %v: %v", x, y, got)
			}
			union := maps.Clone(mx)
			maps.Copy(union, my)
			j := x.Clone()
			j.Join(y)
			mustBe(t, "join", j, union)
			j.AddRange(1, 1, 700)
			j.AddRange(301, 1, 2)
			mustBe(t, "joined", y, my) // shares nothing with the union
		}
		a.Join(a)
		mustBe(t, "joined with itself", a, ma)
	})
}
