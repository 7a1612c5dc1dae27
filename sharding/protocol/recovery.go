package protocol

import (
	"time"
)

// Recovery says how fast the shards of a region start the entities that they remember: so many per
// interval, of all shards of the type on one node together. One for which a message comes is
// started at once, whenever its turn would be.
type Recovery struct {
	// Number of entities per Interval; 0: all, as fast as it goes.
	Number int
	// Interval between two starts of so many. Default 100 ms, if there is a Number.
	Interval time.Duration
}

var (
	// RecoverAll starts all entities at once. The default.
	RecoverAll = Recovery{}
	// RecoverConstant starts five entities of the type on a node every 100 ms, for entities whose
	// start is a burden to others, such as a database.
	RecoverConstant = Recovery{Number: 5, Interval: 100 * time.Millisecond}
)

// Turns hands out when the shards of one region may start what they remember. The machines that
// share it are stepped one after the other. The zero value is ready.
type Turns struct {
	at   time.Time // of the interval of which turns are handed out
	left int       // in it
}

// Reserve takes up to so many turns of the first interval that has some. They may be used from at
// on.
func (t *Turns) Reserve(now time.Time, most int, r Recovery) (n int, at time.Time) {
	switch {
	case !now.Before(t.at.Add(r.Interval)):
		t.at, t.left = now, r.Number
	case t.left == 0:
		t.at, t.left = t.at.Add(r.Interval), r.Number
	}
	n = min(most, t.left)
	t.left -= n
	return n, t.at
}
