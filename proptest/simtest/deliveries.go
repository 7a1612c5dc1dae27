package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/delivered"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// deliveries are the producers of a world: one on each node, if clients deliver something.
type deliveries[M any] struct {
	used   bool
	queued bool // they have queues, which survive their nodes
	judge  *delivered.Judge
	queues *delivered.Queues
	byUID  map[uint64]*producer[M] // only looked up
}

// producer is that of a node.
type producer[M any] struct {
	id     string
	of     *delivery.Producer[M]
	region *sharding.Region[M]
	flush  delivered.Flush
}

// newDeliveries makes those of a trial.
func newDeliveries[M any](x *trial[M], w workload.World, rs random.Streams) deliveries[M] {
	d := deliveries[M]{queued: x.queued, judge: delivered.NewJudge(w.Violate), byUID: map[uint64]*producer[M]{}}
	for _, a := range x.acts {
		d.used = d.used || a.op.delivers
	}
	faults := options.QueueFaults{Fails: x.store.Fails, Delay: x.store.Delay}
	d.queues = delivered.NewQueues(faults, w, rs.Stream("queues", 0), d.judge)
	return d
}

// resendFirst is that of the producers: a world is short.
const resendFirst = 2 * time.Second

// start starts the producer of a node. given is told of each message that a handler is given, and whether
// one had it before.
func (d *deliveries[M]) start(p workload.Process, g *sharding.Region[M],
	given func(id, producer string, seq uint64, m M, again bool)) (err error) {
	if !d.used {
		return nil
	}
	x := &producer[M]{id: p.String(), region: g}
	c := delivery.Config{ResendFirst: resendFirst}
	if d.queued {
		x.id = fmt.Sprintf("n%d", p.Slot()) // without a queue it is another one after a restart
		c.Queue = d.queues.Of(x.id, p)
	}
	c.ID = x.id
	delivery.Watch(g, func(s delivery.Step) {
		if packet, again := d.judge.Stepped(s); packet != nil {
			if m, err := g.Messages().Decode(packet.Body); err == nil {
				given(s.Entity, packet.Producer, packet.Seq, m, again)
			}
		}
	})
	if x.of, err = delivery.NewProducer(g, c); err == nil {
		d.byUID[p.UID()] = x
	}
	return err
}

// confirmed is the answer of a message that was delivered.
type confirmed struct{}

func (confirmed) String() string { return "confirmed" }

// deliver has a message delivered by the producer of a node.
func (d *deliveries[M]) deliver(ctx context.Context, p workload.Process, id string, m M) (answer any, err error) {
	x := d.byUID[p.UID()]
	if err := x.of.Deliver(ctx, id, m); err != nil {
		return nil, err
	}
	body, err := x.region.Messages().Append(nil, m)
	if err != nil {
		return nil, err
	}
	d.judge.Confirmed(x.id, id, body)
	return confirmed{}, nil
}

// flush waits until the producer of a node holds nothing.
func (d *deliveries[M]) flush(p workload.Process) {
	if x := d.byUID[p.UID()]; x != nil {
		x.flush.On(p, askMost, x.of.Flush)
	}
}

// missing says what is not confirmed in the healed world; empty: nothing.
func (d *deliveries[M]) missing(all []workload.Process) string {
	for _, p := range all {
		if x := d.byUID[p.UID()]; d.used && (x == nil || !x.flush.Done) {
			return fmt.Sprintf("%v: not all is confirmed that its clients had delivered (does the type go through "+
				"delivery.Consume, and do its handlers succeed?)", p)
		}
	}
	return ""
}

// lost says which queue has what no handler has handled; empty: none.
func (d *deliveries[M]) lost(all []workload.Process) string {
	for _, p := range all {
		if x := d.byUID[p.UID()]; x != nil {
			if n := d.queues.Lost(x.id); n > 0 {
				return fmt.Sprintf("%s: %d messages were not", x.id, n)
			}
		}
	}
	return ""
}
