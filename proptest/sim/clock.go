package sim

import (
	"time"
	"unsafe"
)

// Virtual time is nanoseconds since the start of the run, an int64; only the world's own loop moves
// it.

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

// localClock is the clock of one machine: its rate differs from true time by up to a per cent, its
// wall time is off by skew. It goes on through a pause of the process; a suspend of the machine
// stops the monotonic reading but not the wall.
type localClock struct {
	rate      float64
	offset    int64 // monotonic reading at true time 0
	skew      int64 // added to wall time
	suspended int64 // true time during which the monotonic clock stood still
}

func (c *localClock) mono(now int64) int64 { return c.offset + int64(float64(now-c.suspended)*c.rate) }

func (c *localClock) read(now int64) time.Time {
	return instant(epochWall+c.skew+int64(float64(now)*c.rate), c.mono(now))
}

// when is the first true time at which the monotonic clock reads at least t.
func (c *localClock) when(t time.Time) int64 {
	at := int64(float64(monotonic(t)-c.offset)/c.rate) + c.suspended
	for c.mono(at) < monotonic(t) {
		at++
	}
	return at
}
