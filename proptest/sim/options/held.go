package options

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
)

// Ordered reports whether nothing in this world excuses a message that comes late: no home dies, and
// no shard has a lease. Each message then ends in a way that its sender or a region tells.
func Ordered(o *Options) bool {
	return o.Calm || o.Scenario == ClosedTypes || o.Scenario == CrowdedMoves
}

// drawHeld draws what regions hold, and for how long, and how often incarnations that are over retire.
func drawHeld(o *Options, rs random.Streams) {
	drawRetirements(o, rs)
	drawIdle(o, rs.Stream("idle", 0))
	drawLimits(o, rs.Stream("limits", 0))
}

// drawIdle draws whether idle entities are passivated, and shards stopped for good. While the cluster
// is shut down and started again, all that is remembered has to run.
func drawIdle(o *Options, r *rand.Rand) {
	o.IdleTimeout = random.Pick(r, 0, 0, 60*time.Millisecond, 400*time.Millisecond, 2*time.Second, 8*time.Second)
	o.StopsShards = o.Shards > 0 && r.IntN(2) == 0
	if o.ActiveLimit > 0 && r.IntN(4) > 0 {
		o.IdleTimeout = 0 // else the limit is seldom reached
	}
	if o.Scenario == Closings {
		o.IdleTimeout, o.StopsShards = 0, false
	}
}

// drawLimits draws bounds of mailboxes and buffers that are met now and then. A region drops what
// finds no room, so a calm world has the usual bounds.
func drawLimits(o *Options, r *rand.Rand) {
	tight := sharding.Limits{
		MailboxMax: random.Pick(r, 1, 3, 20), MailboxBytes: random.Pick(r, 300, 2000),
		RegionBytes: random.Pick(r, 1000, 5000, 20_000), BufferMax: random.Pick(r, 3, 30, 100),
		BufferBytes: random.Pick(r, 1000, 5000, 20_000),
	}
	if o.Scenario == CrowdedMoves || r.IntN(3) == 0 && !o.Calm && o.Scenario != ClosedTypes {
		o.Limits = tight
	}
	o.Limits.Workers, o.Limits.WorkersMax = 4, 1000
}
