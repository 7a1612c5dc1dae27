package options

import "github.com/coterie-go/coterie/proptest/sim/random"

// drawRetirements draws how often incarnations that are over retire.
func drawRetirements(o *Options, rs random.Streams) {
	r := rs.Stream("retirements", 0)
	if o.RetireAfter = random.Pick(r, 0, 1, 2, 4); o.Scenario == Retirements {
		o.RetireAfter = random.Pick(r, 1, 2)
	}
}
