package sharding

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Ports is what sharding needs of a running node. Start(node, …) fills it in for a ddata.Node;
// others (tests, simulations) bring their own. Callbacks are called one at a time per registration
// and in order, and must not be called with a lock held that the port's methods take.
type Ports struct {
	// Cluster is the membership. Required.
	Cluster host.Cluster
	// ClusterName and Addr, of this node, are what leases are named and signed with:
	// EntityType.Leases. Nothing else needs them.
	ClusterName, Addr string
	// Lease reports whether the node may act. Required.
	Lease host.Lease
	// State is the Replicator of the reserved data of the type's role; nil on a node without the role,
	// which makes the region a proxy.
	State host.Data
	// UserData is the Replicator of the users' data of the role, which has reminders; nil likewise.
	UserData host.Data
	// Proxy says that the region never hosts, even if there is a State; the node's coordinator then
	// takes its turn all the same.
	Proxy bool
	// Local says that the node runs with ddata.Local, which shortens the defaults of intervals.
	Local bool
	// MinRegions is the default of Coordination.MinRegions, if it is above 1.
	MinRegions int
	// Network carries the frames. Required.
	Network host.Channels
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
	// Scheduler has the time of the node, and runs what works beside its callers. Default: the
	// process's.
	Scheduler scheduler.Scheduler
	// Log takes failures, and events if Emit is missing. Default: slog.Default.
	Log *slog.Logger
	// Emit takes events. May be nil.
	Emit func(events.Event)
	// Meter takes metrics. May be nil.
	Meter events.Meter
	// Tracer takes spans, and hands traces on. May be nil.
	Tracer tracing.Tracer
	// ReadHeaders reports whether all members read the headers that messages of a trace have. It may be
	// called for each message. Nil: they do not, and traces end at the border of the node.
	ReadHeaders func() bool

	probe     *control.Probe     // of a simulation; nil: none
	mailboxes *mailbox.NodeBytes // of the node; nil: no bound holds for the node
}
