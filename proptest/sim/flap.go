package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// flapping lets links flap, beside whatever is cut.
type flapping struct {
	w     *World
	rng   *rand.Rand
	begun int // how often links began to flap; the latest goes on
}

// begin lets the bad ways come and go in rapid turns for a while. What was heard a moment ago is
// silent now, and back before any node has decided that it is gone.
func (f *flapping) begin(bad func(from, to int) bool) {
	w := f.w
	f.begun++
	mine := f.begun
	end := w.now + random.Between(f.rng, int64(3*time.Second), int64(30*time.Second))
	turn := int64(random.Pick(f.rng, 20*time.Millisecond, 300*time.Millisecond, 1500*time.Millisecond, 4*time.Second))
	down := false
	var next func()
	next = func() {
		switch {
		case w.healed || f.begun != mine:
			return
		case w.now >= end:
			w.net.Flap(nil)
			return
		}
		if down = !down; down {
			w.net.Flap(bad)
		} else {
			w.net.Flap(nil)
		}
		w.at(w.now+random.Between(f.rng, turn/4, 2*turn), nil, next)
	}
	next()
}

// ways draws which slots do not reach which: two groups, one from all, one way or another.
func (c *chaos) ways() func(from, to int) bool {
	switch c.rng.IntN(4) {
	case 0:
		return c.groups(2)
	case 1:
		x := c.slot().index
		return func(a, b int) bool { return a == x || b == x }
	case 2:
		x := c.oldest().index
		return func(a, b int) bool { return a == x }
	}
	bad := c.someWays()
	return func(a, b int) bool { return bad[a]>>b&1 == 1 }
}

// someWays draws single ways from slot to slot.
func (c *chaos) someWays() []uint64 {
	n := len(c.w.slots)
	bad := make([]uint64, n)
	for range 1 + c.rng.IntN(2*n) {
		bad[c.rng.IntN(n)] |= 1 << c.rng.IntN(n)
	}
	return bad
}
