package options

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
)

// Deliver is the name of the plan whose worlds are about deliveries. They are as small as those of
// Remind.
const Deliver = "deliver"

// Delivered are entities to which producers deliver.
type Delivered struct {
	Entities    int // 0: this world has none
	Shards      int
	Gap         time.Duration // mean time between two messages of all clients together
	Takes       time.Duration // mean time of a handler
	Refuses     float64       // part of the handlers that fail
	Later       float64       // part of the messages that are confirmed or rejected beside the handler
	LaterMost   time.Duration // how long after it at most
	Window      int
	BufferMax   int // of a consumer
	Unconfirmed int // most messages of a producer
	ChannelsMax int
	ResendFirst time.Duration
	Cleanup     time.Duration // until a producer forgets an entity of which nothing is unconfirmed
	Queued      bool          // every second producer has a queue
	Queue       QueueFaults
	IdleTimeout time.Duration // 0: none is passivated as idle
	Directive   sharding.Directive
}

// QueueFaults is what befalls the queues of producers, until the world heals.
type QueueFaults struct {
	Fails float64       // part of the commits that fail
	Delay time.Duration // the longest until a commit has taken effect, and again until its caller hears
}

// String prints what there is of them, if there is something.
func (d Delivered) String() string {
	if d.Entities == 0 {
		return ""
	}
	type plain Delivered // it has no String
	return fmt.Sprintf(" delivered=%+v", plain(d))
}

// drawDeliver draws a world of the plan Deliver.
func drawDeliver(rs random.Streams, plan Plan) Options {
	o := drawCluster(rs, plan)
	r := rs.Stream("deliver", 0)
	o.Swarm = Deliver
	o.Delivered = Delivered{
		Entities: random.Pick(r, 1, 3, 12), Shards: random.Pick(r, 2, 4),
		Gap:     random.Pick(r, 20*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond),
		Takes:   random.Pick(r, 0, time.Millisecond, 30*time.Millisecond),
		Refuses: random.Pick(r, 0, 0.02, 0.2), Later: random.Pick(r, 0, 0.1, 0.5),
		LaterMost: random.Pick(r, 10*time.Millisecond, 300*time.Millisecond),
		Window:    random.Pick(r, 1, 3, 50), BufferMax: random.Pick(r, 1, 10, 1000),
		Unconfirmed: random.Pick(r, 5, 50, 1000), ChannelsMax: random.Pick(r, 1, 100),
		ResendFirst: random.Pick(r, 100*time.Millisecond, time.Second, 5*time.Second),
		Cleanup:     random.Pick(r, time.Second, 2*time.Minute),
		Queued:      r.IntN(3) > 0,
		Queue: QueueFaults{
			Fails: random.Pick(r, 0, 0.05, 0.3),
			Delay: random.Pick(r, time.Millisecond, 20*time.Millisecond, 300*time.Millisecond),
		},
		IdleTimeout: random.Pick(r, 0, 200*time.Millisecond, 2*time.Second),
		Directive:   random.Pick(r, sharding.Restart, sharding.Stop, sharding.Resume),
	}
	return o
}
