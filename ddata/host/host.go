package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// ErrUnknownRole: the node does not have the role.
var ErrUnknownRole = errors.New("ddata: this node does not have the role")

// Host is what a node lends to its extensions. Its values may be used from any goroutine, for as
// long as the process runs: after the node's end they do nothing, or return why it has ended.
type Host struct {
	Self      Self
	Cluster   Cluster
	Lease     Lease
	Channels  Channels
	Lifecycle Lifecycle

	// Attached is what extensions keep on the node; see Attach.
	Attached *Attached

	// Data returns the node's replica of a role's reserved data, in which all keys begin with
	// keyspace.ReservedPrefix: what extensions keep to do their work. UserData returns that of the
	// users' data, ddata.Node.Replicator: what is as large as users make it belongs there. Both return
	// ErrUnknownRole when the node does not have the role.
	Data, UserData func(role string) (Data, error)

	// Scheduler has the time of the node, and runs what the extension wants beside its callers.
	Scheduler scheduler.Scheduler
	// Emit tells the log and Config.OnEvent of an event.
	Emit func(events.Event)
	// OnEvent registers a listener for what happens on the node from now on. cancel ends it.
	OnEvent func(events.Listener) (cancel func())
	// Meter takes metrics; nil without Config.Meter.
	Meter events.Meter
	// Tracer takes spans; nil without Config.Tracer.
	Tracer tracing.Tracer
	// Log is the node's logger.
	Log *slog.Logger
}

// Self is what the node is, as it was configured. The slice is not to be changed.
type Self struct {
	ClusterName string
	Addr        string        // others dial it there
	Roles       []string      // of which it has data
	Durable     bool          // durable keys of its roles are on its disk
	Volatile    bool          // its configuration says that no key is durable
	Local       bool          // it has the short timers of the preset ddata.Local
	Heartbeat   time.Duration // between two heartbeats to another node
	// MinMembers is how many members of a role there must be before the first ones come up; a role
	// that is missing asks for none.
	MinMembers map[string]int
}

// Cluster is the membership as the node knows it.
type Cluster interface {
	// UID is this node's.
	UID() view.UID
	// View is the installed view, nil before the first.
	View() *view.View
	// Offer says that this node offers a service, for as long as it is a member (view.View.InCharge).
	Offer(s view.Service)
	// OnView registers fn for every view that is installed from now on, and nil when this node is
	// no member any more.
	OnView(fn func(*view.View)) (cancel func())
	// OnReachable registers fn for changes of whether a member can be reached from here.
	OnReachable(fn func(uid view.UID, ok bool)) (cancel func())
}

// Lease is the node's permission to run what must run once.
type Lease interface {
	// Holds reads the clock: may this node act at this moment? It may be called for every message,
	// and takes no lock.
	Holds() bool
	// OnLease registers fn for the loss and the return of the lease. It may be late, and silent
	// about a lease that was away for a moment: Holds decides.
	OnLease(fn func(held bool)) (cancel func())
}

// Data is one role's replica for a caller that does not wait. done is called once, on any
// goroutine, perhaps before the call returns; it must be quick. A timeout of 0 stands for
// Config.RequestTimeout.
type Data interface {
	// Update changes a key, acknowledged by as many replicas as level says. mutate runs on the
	// replica's own goroutine.
	Update(key string, level quorum.Level, timeout time.Duration, mutate func(*crdt.Tx) error, done func(error))
	// Get reads a key from as many replicas as level says.
	Get(key string, level quorum.Level, timeout time.Duration, done func(crdt.Reader, error))
	// Watch calls fn with the state of every key that has the prefix, now and after changes;
	// intermediate states may be left out.
	Watch(prefix string, fn func(key string, r crdt.Reader)) (cancel func())
}

// Channels carry frames to other nodes. The errors are those of transport.Sender.
type Channels interface {
	// Claim takes a channel for good, and returns the highest promise that the node has made on it;
	// nil: none. Until then the node answers the questions of others there, see Question.
	Claim(ch transport.Channel) (promised []byte)
	// Handle registers the handler of a channel; nil takes it away. See transport.Transport.
	Handle(ch transport.Channel, h transport.Handler)
	// Append queues a frame if check, run under the lock that orders the lane, allows it; it never
	// waits. See transport.Sender.
	Append(to transport.NodeID, lane transport.Lane, stripe uint32, ch transport.Channel, fill func([]byte) []byte,
		check func() error) error
	// AppendWait is Append that waits for room until ctx ends; transport.ErrQueueFull then, which
	// wraps ctx's error.
	AppendWait(ctx context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
		ch transport.Channel, fill func([]byte) []byte, check func() error) error
	// CountDrop adds frames to the node's counters that a handler took and gave up.
	CountDrop(why transport.Drop, frames int)
	// OnLink registers fn for links going up and down.
	OnLink(fn func(transport.LinkEvent)) (cancel func())
}

// Lifecycle is an extension's part in the health and in the end of its node.
type Lifecycle interface {
	// OnShutdown registers a task for a phase of the node's end. name says whose it is when it does
	// not end in time.
	OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func())
	// OnHealth registers a check: what the extension lacks to be ready, nil when nothing. It must
	// not wait.
	OnHealth(check func() (reasons []string)) (cancel func())
	// OnEnd registers fn for the end of the node: it is no member any more. The node waits until fn
	// has returned. If the node has ended already, fn is called at once.
	OnEnd(fn func(error)) (cancel func())
	// Ended says why the node ends, or has ended; nil while it runs.
	Ended() error
	// Broken ends the node because a machine of the extension has panicked: at once without its
	// lease, as a crash for the others, and with ddata.ErrBroken. name says which machine, state
	// prints what it was in. It is called on the machine's goroutine (runloop.Loop.WhenBroken).
	Broken(name string, b runloop.Broken, state fmt.Stringer)
}
