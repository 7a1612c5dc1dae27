package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Node is a simulated node, as what a user starts there sees it. A node that starts again is another
// one. Its methods are for the handlers of its entities, and for what starts them.
type Node struct {
	p     workload.Process
	doors *doors
	typ   string // that was started
	// carried is called after each Call that was carried out; nil: nothing looks.
	carried func()
}

// doors are the stores outside of the cluster that all nodes of a world share.
type doors struct {
	told      *told
	store     *journals.Store
	reminders *journals.KeptReminders
}

// newDoors makes the stores of a world, which misbehave, and which nodes do not reach now and then.
func newDoors(f journals.Faults, outages []outage, s *told, rs random.Streams) *doors {
	d := &doors{
		told:      s,
		store:     journals.New(f, journals.Defects{}, s.w, rs.Stream("stores", 0), s.trace, stored{s.tell}),
		reminders: journals.NewReminders(journals.Defects{}, s.w.Violate),
	}
	for _, o := range outages {
		s.w.After(workload.Forms+o.at, nil, func() {
			s.tell("%v", o)
			d.store.Fail(o.node, o.long)
		})
	}
	return d
}

// still has the node on a slot stand still in a call.
func (d *doors) still(slot int, in journals.Standstill) {
	call := "its next call"
	if in.Skip > 0 {
		call = fmt.Sprintf("call %d after its next one", in.Skip)
	}
	d.told.tell("n%d is to stand still %v %s, until another node has taken over", slot, in.When, call)
	d.store.Still(slot, in)
}

// String is the node's name, and the number of its start.
func (n *Node) String() string { return n.p.String() }

// Host is the port on which packages of this library start what runs on a node.
func (n *Node) Host() host.Host { return n.p.Host() }

// Now is the time by the node's clock. Clocks of nodes differ.
func (n *Node) Now() time.Time { return n.p.Now() }

// Sleep has a handler take some time. A handler must not wait in any other way: what waits for the
// clock of the machine, or for a goroutine, stops the world.
func (n *Node) Sleep(d time.Duration) { n.p.Sleep(d) }

// Wait waits for some time, or until ctx ends: it returns the cause of that, and nil after the time.
func (n *Node) Wait(ctx context.Context, d time.Duration) error {
	timed, cancel := n.p.WithTimeout(ctx, d)
	defer cancel()
	n.p.Await(timed.Done(), nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Journal keeps events, outside of the cluster. All nodes share it.
func (n *Node) Journal() persistence.Journal { return n.doors.store.Of(n.p) }

// Snapshots keeps snapshots beside the Journal.
func (n *Node) Snapshots() persistence.Snapshots { return n.doors.store.Of(n.p) }

// States keeps values of entities, outside of the cluster. All nodes share it.
func (n *Node) States() persistence.States { return n.doors.store.Of(n.p) }

// Reminders keeps reminders, outside of the cluster. All nodes share them.
func (n *Node) Reminders() remind.Store { return n.doors.store.Of(n.p).Reminders(n.doors.reminders) }

// hosting is what a Context says of the entity that it is of.
type hosting interface {
	Shard() sharding.ShardID
	Fence() (sharding.FencingToken, error)
}

// runToken is the key under which a context has the token of the run of a singleton.
type runToken struct{}

// Call calls a service outside of the cluster, such as a database, from the handler whose Context ctx
// is, or from the run of a singleton, whose context ctx is or comes from. The service carries do out at
// one moment: do must not wait. The call takes time and meets what real ones meet: the node stands still,
// or dies, before do, or between do and the answer; the service is not reached; the answer is lost. So do
// may have been carried out although Call returns an error, and may be carried out after it.
//
// Errors: that of do; that of ctx; one of the service, which says nothing of do.
func (n *Node) Call(ctx context.Context, do func() error) error {
	h := persistence.Hosting{Type: n.typ}
	if c, is := ctx.(hosting); is {
		token, err := c.Fence()
		if err != nil {
			return err
		}
		h.Shard, h.Token = c.Shard(), token
	}
	if token, is := ctx.Value(runToken{}).(sharding.FencingToken); is {
		h.Token = token
	}
	if n.carried != nil {
		carriedOut := do
		do = func() error {
			defer n.carried()
			return carriedOut()
		}
	}
	if err := n.doors.store.Of(n.p).Call(ctx, h, do); err != nil {
		return fmt.Errorf("simtest: call of %v: %w", n, err)
	}
	return nil
}
