package sharding

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// nodeTypes is what sharding keeps on one node: its types, and what these share.
//
//	not started ──Start──► started ──Region.Close──► draining ──Start──► started
//	     ▲                    └──the node ends───────────┴──► gone
//	     └──a Start that fails after the end of what drained
type nodeTypes struct {
	host      host.Host
	health    nodeHealth
	mailboxes *mailbox.NodeBytes

	startMu sync.Mutex // one Start at a time; held while a region ends, whose hooks may look types up

	mu       sync.Mutex
	started  map[string]startedType // that run
	draining map[string]*engine     // that were closed, and whose machines go on
	absences map[transport.Channel]*absence
}

// typesOf returns the types of a node.
func typesOf(h host.Host) *nodeTypes {
	return host.Attach(h, func() *nodeTypes {
		t := &nodeTypes{
			host: h, health: nodeHealth{types: map[string]*dataplane.Plane{}},
			started: map[string]startedType{}, draining: map[string]*engine{},
			absences: map[transport.Channel]*absence{}, mailboxes: mailbox.NewNodeBytes(mailbox.DefaultNodeBytes),
		}
		h.Lifecycle.OnHealth(t.health.missing)
		return t
	})
}

// show has the console of the node show the types.
func (t *nodeTypes) show() { section.Put(t.host, consoleSection{t}) }

// find returns a type that runs.
func (t *nodeTypes) find(name string) (startedType, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.started[name]
	return s, ok
}

// names are those of the types that run, in order.
func (t *nodeTypes) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.started))
}

// add notes that a type runs, unless it has ended with the node meanwhile.
func (t *nodeTypes) add(name string, s startedType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.run.plane.HasEnded() {
		t.started[name] = s
	}
	delete(t.draining, name)
}

// closed notes that the region of a type was closed.
func (t *nodeTypes) closed(name string, run *engine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.started, name)
	if !run.plane.HasEnded() {
		t.draining[name] = run
	}
}

// gone notes that a type has ended with the node.
func (t *nodeTypes) gone(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.started, name)
	delete(t.draining, name)
}

// bind has the region leave the node's types when it is closed, and end with the node.
func (t *nodeTypes) bind(a *absence, run *engine) {
	name := a.name
	run.absence = a
	unwatch := t.health.watch(name, run.plane)
	run.onCancel(unwatch)
	run.onClose = func() {
		unwatch()
		t.closed(name, run)
	}
	run.onCancel(t.host.Lifecycle.OnEnd(func(why error) {
		run.endWithNode(why)
		t.gone(name)
	}))
}

// predecessor is what holds for the type from before. Machines that went on after Region.Close end
// now; while one of its handlers runs, its entity would live twice. From their end on the type is
// one that is not started here.
func (t *nodeTypes) predecessor(a *absence) (protocol.Predecessor, error) {
	name := a.name
	t.mu.Lock()
	run := t.draining[name]
	t.mu.Unlock()
	if run == nil {
		return a.start(), nil
	}
	if !dataplane.IsDone(run.control.Left()) {
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed, and handlers of it still run",
			ErrAlreadyStarted, name)
	}
	// a handler runs, perhaps of a shard that was killed: its machines go on
	if err := run.inEndTime(run.plane.Entities.Pool.Drain); err != nil {
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed: %w", ErrAlreadyStarted, name, err)
	}
	var err error
	if !run.plane.HasEnded() {
		run.successor.Store(a)
		err = run.endInTime(errRegionClosed)
		a.resume(run.control.Predecessor())
	} else {
		err = run.inEndTime(run.rests)
	}
	if err != nil {
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed, and not everything of it has ended: %w",
			ErrAlreadyStarted, name, err)
	}
	return a.start(), nil
}

// nodeEndTimeout is how long the end of a node, or a Start after Close, waits for handlers that
// run.
const nodeEndTimeout = time.Second

func (run *engine) inEndTime(do func(context.Context) error) error {
	ctx, cancel := run.plane.Scheduler.WithTimeout(context.Background(), nodeEndTimeout)
	defer cancel()
	return do(ctx)
}

// endInTime is end within nodeEndTimeout.
func (run *engine) endInTime(why error) error {
	return run.inEndTime(func(ctx context.Context) error { return run.end(ctx, why) })
}

func (run *engine) endWithNode(why error) {
	if err := run.endInTime(fmt.Errorf("the node has ended: %w", why)); err != nil {
		run.plane.Log.Warn("sharding: not everything has ended with the node", "type", run.plane.Name, "error", err)
	}
}

// ports are those of a type on the node.
func (t *nodeTypes) ports(role, name string, proxy bool) (Ports, error) {
	h := t.host
	p := Ports{
		Cluster: h.Cluster, ClusterName: h.Self.ClusterName, Addr: h.Self.Addr, Lease: h.Lease,
		Proxy: proxy, Local: h.Self.Local, Network: h.Channels,
		Scheduler: h.Scheduler, Log: h.Log, Emit: h.Emit, Meter: h.Meter, Tracer: h.Tracer,
		ReadHeaders: readHeaders(h.Cluster),
		Broken:      h.Lifecycle.Broken, mailboxes: t.mailboxes,
		probe: host.Attach(h, func() *control.Probe { return &control.Probe{} }),
	}
	p.BeforeLeave = func(leave func(context.Context) error) (cancel func()) {
		return h.Lifecycle.OnShutdown(shutdown.ShardingShutdownRegion, "entity type "+name, leave)
	}
	p.BeforeExit = func(resign func(context.Context) error) (cancel func()) {
		return h.Lifecycle.OnShutdown(shutdown.ClusterExiting, "coordinator of entity type "+name, resign)
	}
	if !slices.Contains(h.Self.Roles, role) {
		return p, nil
	}
	p.MinRegions = h.Self.MinMembers[role]
	var err error
	if p.State, err = h.Data(role); err == nil {
		p.UserData, err = h.UserData(role)
	}
	return p, err
}

// readHeaders reports whether all members of a cluster read the headers of messages that belong to a
// trace.
func readHeaders(c host.Cluster) func() bool {
	return func() bool { return view.Writes(c.View(), format.Headers) }
}
