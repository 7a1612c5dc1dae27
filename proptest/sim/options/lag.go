package options

import (
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// drawLag draws how late views come on single links at most, from a stream of its own.
func (o *Options) drawLag(rs random.Streams) {
	lag := random.Pick(rs.Stream("lag", 0), 0, time.Second, 4*time.Second)
	switch o.Scenario {
	case Inserts, Votes: // stories of their own, told with a watch
	case LaggingViews:
		o.Lag = max(lag, time.Second)
	default:
		o.Lag = lag
	}
}

// drawLagging makes some of the worlds of plain chaos ones of lagging views, from a stream of its
// own.
func (o *Options) drawLagging(rs random.Streams) {
	if o.Scenario == PlainChaos && rs.Stream("lagging", 0).IntN(6) == 0 {
		o.Scenario = LaggingViews
	}
}
