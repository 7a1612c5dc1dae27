package handlers

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// errFails is what handlers return that fail.
var errFails = errors.New("a handler that fails")

// End ends a handler as drawn: well, with an error, or a panic, or late, when hang has waited.
func End(g *rand.Rand, o *options.Options, hang func(time.Duration)) error {
	switch x := g.Float64(); {
	case x < o.Fails:
		return errFails
	case x < o.Fails+o.Panics:
		panic("a handler that panics")
	case x < o.Fails+o.Panics+o.Hangs:
		hang(late(g))
	}
	return nil
}

// hangMost is how long a handler hangs that waits for the end of its context, or for a result that is
// late.
const hangMost = 12 * time.Second

// late draws how long a handler hangs.
func late(g *rand.Rand) time.Duration { return time.Duration(random.Between(g, 0, int64(hangMost))) }

// Time draws how long a handler takes: mostly little, and in a world that is not healed now and then
// too long for a stop's patience.
func Time(g *rand.Rand, healed bool) time.Duration {
	switch {
	case !healed && g.IntN(2000) == 0:
		return time.Duration(random.Between(g, int64(time.Second), int64(8*time.Second)))
	case g.IntN(20) == 0:
		return time.Duration(random.Between(g, int64(time.Millisecond), int64(30*time.Millisecond)))
	case g.IntN(2) == 0:
		return 0
	}
	return time.Duration(random.Between(g, int64(5*time.Microsecond), int64(300*time.Microsecond)))
}

// Pause draws whether a handler waits for a result, and when that comes: at once, which is before the
// handler has returned, or soon, or too late for a stop's patience.
func Pause(g *rand.Rand, o *options.Options, healed bool) (after time.Duration, waits bool) {
	if !random.Chance(g, o.Awaits) {
		return 0, false
	}
	switch tooLate := g.IntN(100) == 0; {
	case tooLate && !healed && !o.Calm:
		return late(g), true
	case g.IntN(4) == 0:
		return 0, true
	}
	return time.Duration(random.Between(g, int64(10*time.Microsecond), int64(50*time.Millisecond))), true
}
