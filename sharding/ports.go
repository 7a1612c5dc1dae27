package sharding

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Ports is what sharding needs of a running node. Start(node, …) fills it in for a ddata.Node;
// others (tests, simulations) bring their own. Callbacks are called one at a time per registration
// and in order, and must not be called with a lock held that the port's methods take.
type Ports struct {
	// Cluster is the membership. Required.
	Cluster Cluster
	// ClusterName and Addr, of this node, are what leases are named and signed with:
	// EntityType.Lease, EntityType.CoordinatorLease. Nothing else needs them.
	ClusterName, Addr string
	// Lease says whether the node may act. Required.
	Lease Lease
	// State is the Replicator of the type's role; nil on a node without the role, which makes the
	// region a proxy.
	State State
	// Proxy says that the region never hosts, even if there is a State; the node's coordinator then
	// takes its turn all the same.
	Proxy bool
	// Network carries the frames. Required.
	Network Network
	// Predecessor is what the node has promised for the type before, see protocol.NotStarted. The
	// zero value is right if no region of the type ran on this node and nothing answered for it.
	Predecessor protocol.Predecessor
	// BeforeLeave registers what must be done before the node says that it has stopped; Leave waits
	// for it. May be nil.
	BeforeLeave func(func(context.Context) error) (cancel func())
	// BeforeExit registers what must be done after that, when everything is handed over, and
	// likewise before the node says that it has stopped. May be nil.
	BeforeExit func(func(context.Context) error) (cancel func())
	// Broken ends the node when a machine of sharding has panicked: name says which, and state
	// prints itself. Default: the panic ends the process.
	Broken func(name string, b runloop.Broken, state fmt.Stringer)
	// Log takes failures, and events if Emit is missing. Default: slog.Default.
	Log *slog.Logger
	// Emit takes events. May be nil.
	Emit func(events.Event)
	// Meter takes metrics. May be nil.
	Meter events.Meter

	mailboxes *nodeBytes // of the node; nil: no bound holds for the node
}

// Cluster is what sharding needs of the membership.
type Cluster interface {
	// UID is this node's.
	UID() membership.UID
	// View is the installed view, nil before the first.
	View() *membership.View
	// OnView registers fn for every view that is installed from now on, and nil when this node is
	// no member any more.
	OnView(fn func(*membership.View)) (cancel func())
	// OnReachable registers fn for changes of whether a member can be reached from here.
	OnReachable(fn func(uid membership.UID, ok bool)) (cancel func())
}

// Lease is what sharding needs of the node's lease.
type Lease interface {
	// Holds reads the clock: may this node act at this moment? It is called for every message and
	// must not lock.
	Holds() bool
	// OnLease registers fn for the loss and the return of the lease. It may be late, and silent
	// about a lease that was away for a moment: Holds decides.
	OnLease(fn func(held bool)) (cancel func())
}

// State is what sharding needs of a role's Replicator. done is called once, on any goroutine,
// perhaps before the call returns.
type State interface {
	// Update changes a key, acknowledged by as many as level says.
	Update(key string, level ddata.Level, timeout time.Duration, mutate func(*crdt.Tx) error, done func(error))
	// Get reads a key from as many as level says.
	Get(key string, level ddata.Level, timeout time.Duration, done func(crdt.Reader, error))
	// Subscribe calls fn with the state of every key that has the prefix, now and after changes;
	// intermediate states may be left out.
	Subscribe(prefix string, fn func(key string, r crdt.Reader)) (cancel func())
}

// Network is what sharding needs of the transport; a transport.Transport with a way to hear of
// links satisfies it.
type Network interface {
	// Handle registers the handler of a channel; nil takes it away.
	Handle(ch transport.Channel, h transport.Handler)
	// Append queues a frame if check, run under the lock that orders the lane, allows it; it never
	// waits.
	Append(to transport.NodeID, lane transport.Lane, stripe uint32, ch transport.Channel, fill func([]byte) []byte, check func() error) error
	// AppendWait is Append that waits for room until ctx ends; transport.ErrQueueFull then, which
	// wraps ctx's error.
	AppendWait(ctx context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
		ch transport.Channel, fill func([]byte) []byte, check func() error) error
	// OnLink registers fn for links going up and down.
	OnLink(fn func(transport.LinkEvent)) (cancel func())
}
