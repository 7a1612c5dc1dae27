package clock

import (
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// epochWall is the wall time at which every run starts: a fixed instant, so that a timestamp in a
// payload is the same in every run.
const epochWall = int64(1_800_000_000_000_000_000)

// rawTime has the layout of time.Time. The standard library offers no way to make an instant whose
// monotonic and wall readings are both given, which a simulated clock needs: only time.Now makes
// one, and it reads the real clock. TestInstant holds the layout.
type rawTime struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

const (
	hasMonotonic     = 1 << 63
	unixSeconds1885  = int64(-2682288000)
	nanosecondsShift = 30
)

// instant is the time.Time that a process reads: Sub and Before use mono, UnixNano tells wall.
func instant(wall, mono int64) time.Time {
	sec, nsec := wall/1e9, wall%1e9
	raw := rawTime{
		wall: hasMonotonic | uint64(sec-unixSeconds1885)<<nanosecondsShift | uint64(nsec),
		ext:  mono,
		loc:  time.UTC,
	}
	return *(*time.Time)(unsafe.Pointer(&raw))
}

// monotonic reads back the monotonic part of an instant that instant made (or that Add derived from
// one).
func monotonic(t time.Time) int64 { return (*rawTime)(unsafe.Pointer(&t)).ext }

// Clock is the clock of one machine: its rate differs from true time by a few per cent at most, its
// wall time is off by skew. It goes on through a pause of a process; a suspend of the machine stops
// the monotonic reading but not the wall.
type Clock struct {
	rate      float64
	offset    int64 // monotonic reading at true time 0
	skew      int64 // added to wall time
	suspended int64 // true time during which the monotonic clock stood still
}

// Draw draws a clock whose rate is off by drift at most, and its wall time by skew.
func Draw(r *rand.Rand, drift float64, skew time.Duration) Clock {
	c := Clock{rate: 1, offset: random.Between(r, 0, int64(1000*time.Hour)) + 1}
	if drift > 0 {
		c.rate = 1 + (r.Float64()*2-1)*drift
	}
	if skew > 0 {
		c.skew = random.Between(r, -int64(skew), int64(skew))
	}
	return c
}

func (c *Clock) String() string {
	return fmt.Sprintf("rate=%.4f skew=%v", c.rate, time.Duration(c.skew))
}

// mono is the monotonic reading at a true time.
func (c *Clock) mono(now int64) int64 { return c.offset + int64(float64(now-c.suspended)*c.rate) }

// DrawExtreme draws a clock that is as fast or as slow as drift lets it be.
func DrawExtreme(r *rand.Rand, drift float64, skew time.Duration) Clock {
	c := Draw(r, drift, skew)
	c.rate = 1 + random.Pick(r, -drift, drift)
	return c
}

// ReadAwake is what the clock would show if the wall clock stood still with the monotonic one.
func (c *Clock) ReadAwake(now int64) time.Time {
	return instant(epochWall+c.skew+int64(float64(now-c.suspended)*c.rate), c.mono(now))
}

// Read is what the clock shows at a true time.
func (c *Clock) Read(now int64) time.Time {
	return instant(epochWall+c.skew+int64(float64(now)*c.rate), c.mono(now))
}

// When is the first true time at which the monotonic clock reads at least t.
func (c *Clock) When(t time.Time) int64 {
	at := int64(float64(monotonic(t)-c.offset)/c.rate) + c.suspended
	for c.mono(at) < monotonic(t) {
		at++
	}
	return at
}

// Elapsed is how much the clock counts of a span of true time.
func (c *Clock) Elapsed(span int64) time.Duration { return time.Duration(float64(span) * c.rate) }

// Suspend has the monotonic clock stand still for a span of true time.
func (c *Clock) Suspend(d time.Duration) { c.suspended += int64(d) }

// Jump moves the wall clock.
func (c *Clock) Jump(d time.Duration) { c.skew += int64(d) }
