package options

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// Timing is a set of time-outs.
type Timing uint8

// The timings.
const (
	UsualTiming Timing = iota // the preset of package membership
	// HostileTiming leaves all safety to the rules: the least stable-after and the longest lease
	// that Validate lets pass.
	HostileTiming
	// RecklessTiming goes beyond what Validate lets pass: stable-after 0, leases of ten seconds. A
	// dropped node always holds a lease still.
	RecklessTiming
)

func hostileIf(yes bool) Timing {
	if yes {
		return HostileTiming
	}
	return UsualTiming
}

func (t Timing) String() string { return [...]string{"usual", "hostile", "reckless"}[t] }

// Times are the time-outs of all nodes.
func (o *Options) Times() membership.Config {
	c := membership.LAN()
	switch o.Timing {
	case HostileTiming:
		c.UnreachableAfter, c.LeaseDuration, c.StableAfter, c.SelfDownAfter = 2*time.Second, 8*time.Second,
			6300*time.Millisecond, 25*time.Second
	case RecklessTiming:
		c.UnreachableAfter, c.LeaseDuration, c.StableAfter, c.SelfDownAfter = 2*time.Second, 10*time.Second,
			time.Millisecond, 25*time.Second
	}
	return c
}

// ExpireRules are the times that a process gives the simulator's own keys. They differ, as during a
// rolling restart that changes them: every second process gives some keys more time.
func (o *Options) ExpireRules(uid uint64) map[string]time.Duration {
	if o.Fleeting == 0 {
		return nil
	}
	rules := map[string]time.Duration{"v/x/*": o.ExpireAfter, "d/x/*": o.ExpireAfter}
	if uid%2 == 1 {
		rules["v/x/1*"], rules["d/x/*"] = o.ExpireAfter*3/2, o.ExpireAfter*3/2
	}
	return rules
}
