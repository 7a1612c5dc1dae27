package calls

import "time"

// gather decides for how long the next call of a lane waits for more Ops.
//
// Callers that were answered together ask again together, a little later. Without a wait the first of
// them would go alone, or with those that came while the call was under way, and there would be two
// groups that wait for one another. So a call waits until as many are there as the last one has answered
// and left waiting, at most for the time that it took. A caller that is alone never waits. Where the
// callers do not come again, waits in vain become rare.
type gather struct {
	expected int       // Ops that wait, with which the next call begins at once; 0: with any
	until    time.Time // when it begins with fewer
	vain     int       // waits in a row that the expected ones have missed
	rest     int       // calls that wait for none because of that
}

const (
	gatherMost = 10 * time.Millisecond // the longest wait
	vainMost   = 6                     // doublings of rest
)

// answered notes that a call has answered some Ops, and left others waiting.
func (g *gather) answered(now time.Time, took time.Duration, ops, waiting int) {
	g.expected, g.until = 0, time.Time{}
	if g.rest > 0 {
		g.rest--
		return
	}
	g.expected, g.until = ops+waiting, now.Add(min(took, gatherMost))
}

// waits returns until when the next call waits that has some Ops now; zero: it does not.
func (g *gather) waits(ops int) time.Time {
	if ops >= g.expected {
		return time.Time{}
	}
	return g.until
}

// begins notes that a call begins when so many Ops wait.
func (g *gather) begins(ops int) {
	switch {
	case g.expected == 0:
	case ops >= g.expected:
		g.vain = 0
	default:
		g.vain = min(g.vain+1, vainMost)
		g.rest = 1<<g.vain - 1
	}
	g.expected = 0
}
