package sharding

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Start starts an entity type on a node. On a node without the type's role the region is a proxy.
// All nodes that host or use the type start it, with the same Name, Role, Shards, Hash and
// RememberEntities. The oldest node with the role must be one of them, for its coordinator is the
// one that acts (Health, the errors of Ask and the event CoordinatorAbsent name it otherwise);
// which node that is changes, so start a type on all of them. A type that is new to a running
// cluster has a role of its own, or serves when the oldest node has been restarted; until then
// nodes with it are ready without it, and leave at once. A second Start of the same type on the
// same node returns the region of the first, whose other settings hold; one with another message
// type, or other of these settings, is refused.
//
// The region ends with the node: Node.Leave first hands its shards over. Region.Close does so
// earlier, and the type may be started on the node again.
//
// Errors: ErrConfig (all faults together), ErrAlreadyStarted (also while the region before is being
// closed, or its handlers still run), and on a node that has ended ErrStopped with the reason of
// its end.
func Start[M any](node *ddata.Node, t EntityType[M]) (*Region[M], error) {
	return startType(node, t, !slices.Contains(node.Roles(), t.Role))
}

// StartProxy starts an entity type on a node as a proxy, which sends and asks and never hosts,
// whatever the node's roles are; it needs no New. A node that has the role takes its turn as the
// type's coordinator all the same.
//
// Errors: those of Start.
func StartProxy[M any](node *ddata.Node, t EntityType[M]) (*Region[M], error) {
	return startType(node, t, true)
}

// Lookup is the region of a type that was started on the node.
//
// Errors: ErrNotStarted, ErrAlreadyStarted if the type has another message type.
func Lookup[M any](node *ddata.Node, name string) (*Region[M], error) {
	typesMu.Lock()
	defer typesMu.Unlock()
	s, ok := started[startedKey{node, name}]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNotStarted, name)
	}
	return regionOf[M](name, s)
}

func regionOf[M any](name string, s startedType) (*Region[M], error) {
	g, same := s.region.(*Region[M])
	if !same {
		return nil, fmt.Errorf("%w: %q has another message type: it is a %T", ErrAlreadyStarted, name, s.region)
	}
	return g, nil
}

// Types is the names of the types that were started on the node and run, in order.
func Types(node *ddata.Node) []string {
	typesMu.Lock()
	defer typesMu.Unlock()
	var names []string
	for k := range started { // order: sorted below
		if k.node == node {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}

func startType[M any](node *ddata.Node, t EntityType[M], proxy bool) (*Region[M], error) {
	t = withPreset(t, node.Preset())
	hasRole := slices.Contains(node.Roles(), t.Role)
	faults := t.faults()
	faults.add(hasRole && !proxy && t.New == nil, "New is missing: this node has the role %q and hosts entities", t.Role)
	faults.add(hasRole && t.RememberEntities && t.RememberStore == nil && !node.Durable(), "RememberEntities needs durable data: set ddata.Config.Dir, "+
		"and do not switch it off with an empty ddata.Config.DurableKeys; or give the type a RememberStore")
	if err := faults.err(t.Name); err != nil {
		return nil, err
	}
	select {
	case <-node.Done():
		return nil, fmt.Errorf("%w: the node has ended: %w", ErrStopped, node.Err())
	default:
	}
	startMu.Lock()
	defer startMu.Unlock()
	key := startedKey{node, t.Name}
	settings := startedSettings{t.Role, t.withDefaults().Shards, t.Hash, t.RememberEntities, storeID(t.Lease), storeID(t.CoordinatorLease), proxy}
	if s, ok := key.started(); ok {
		g, err := regionOf[M](t.Name, s)
		switch {
		case err != nil:
			return nil, err
		case s.settings != settings:
			return nil, fmt.Errorf("%w: %q as %v, not as %v", ErrAlreadyStarted, t.Name, s.settings, settings)
		case g.run.closing.Load():
			return nil, fmt.Errorf("%w: %q is being closed", ErrAlreadyStarted, t.Name)
		}
		return g, nil
	}
	ports, err := nodePorts(node, t.Role, t.Name, proxy)
	if err != nil {
		return nil, err
	}
	if ports.Predecessor, err = key.predecessor(); err != nil {
		return nil, err
	}
	g, err := StartOn(ports, t)
	if err != nil {
		return nil, err
	}
	g.run.bind(key) // before any caller finds and closes it
	typesMu.Lock()
	defer typesMu.Unlock()
	if !g.core.hasEnded() { // with its node
		started[key] = startedType{g, settings}
	}
	delete(draining, key)
	return g, nil
}

// bind has the region leave the node's types when it is closed, and end with the node.
func (run *engine) bind(key startedKey) {
	run.absence = absencesOf(key.node).named(key.name)
	unwatch := healthOf(key.node).watch(key.name, run.core)
	run.onCancel(unwatch)
	run.onClose = func() {
		unwatch()
		typesMu.Lock()
		defer typesMu.Unlock()
		delete(started, key)
		if !run.core.hasEnded() {
			draining[key] = run
		}
	}
	run.onCancel(key.node.Watch(ddata.Watcher{End: func(error) {
		run.endWithNode()
		typesMu.Lock()
		defer typesMu.Unlock()
		delete(started, key)
		delete(draining, key)
	}}))
}

// predecessor is what holds for the type from before. Machines that went on after Region.Close end
// now; while one of its handlers runs, its entity would live twice. From their end on the type is
// one that is not started here.
func (key startedKey) predecessor() (protocol.Predecessor, error) {
	absent := absencesOf(key.node)
	run := key.draining()
	if run == nil {
		return absent.start(key.name)
	}
	if !isDone(run.control.left) {
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed, and handlers of it still run", ErrAlreadyStarted, key.name)
	}
	if err := inEndTime(run.core.pool.drain); err != nil { // a handler runs, perhaps of a shard that was killed: its machines go on
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed: %w", ErrAlreadyStarted, key.name, err)
	}
	var err error
	if !run.core.hasEnded() {
		run.successor.Store(run.absence)
		err = inEndTime(run.end)
		absent.resume(key.name, run.predecessor())
	} else {
		err = inEndTime(run.rests)
	}
	if err != nil {
		return protocol.Predecessor{}, fmt.Errorf("%w: %q was closed, and not everything of it has ended: %w", ErrAlreadyStarted, key.name, err)
	}
	return absent.start(key.name)
}

// The types that run, by node, and those that were closed, whose machines go on.
var (
	startMu  sync.Mutex // one Start at a time; held while a region ends, whose hooks may look types up
	typesMu  sync.Mutex // of the maps
	started  = map[startedKey]startedType{}
	draining = map[startedKey]*engine{}
)

type startedKey struct {
	node *ddata.Node
	name string
}

func (key startedKey) started() (startedType, bool) {
	typesMu.Lock()
	defer typesMu.Unlock()
	s, ok := started[key]
	return s, ok
}

func (key startedKey) draining() *engine {
	typesMu.Lock()
	defer typesMu.Unlock()
	return draining[key]
}

type startedType struct {
	region   any
	settings startedSettings
}

type startedSettings struct {
	role     string
	shards   int
	hash     protocol.Hash
	remember bool
	// IDs of the stores of leases
	lease, coordinatorLease string

	proxy bool
}

func (s startedSettings) String() string {
	return fmt.Sprintf("{Role %q, Shards %d, Hash %v, RememberEntities %t, Lease %q, CoordinatorLease %q, proxy %t}",
		s.role, s.shards, s.hash, s.remember, s.lease, s.coordinatorLease, s.proxy)
}

// nodeEndTimeout is how long the end of a node, or a Start after Close, waits for handlers that
// run.
const nodeEndTimeout = time.Second

func inEndTime(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), nodeEndTimeout)
	defer cancel()
	return do(ctx)
}

func (run *engine) endWithNode() {
	if err := inEndTime(run.end); err != nil {
		run.core.log.Warn("sharding: not everything has ended with the node", "type", run.core.name, "error", err)
	}
}

func nodePorts(n *ddata.Node, role, name string, proxy bool) (Ports, error) {
	h := n.Host()
	p := Ports{
		Cluster: h.Cluster, ClusterName: n.ClusterName(), Addr: n.Addr(), Lease: h.Lease, Proxy: proxy, Network: h.Channels,
		Log: h.Log, Emit: h.Emit, Meter: h.Meter, Broken: h.Lifecycle.Broken, mailboxes: nodeBytesOf(n),
	}
	p.BeforeLeave = func(leave func(context.Context) error) (cancel func()) {
		return h.Lifecycle.OnShutdown(shutdown.ShardingShutdownRegion, "entity type "+name, leave)
	}
	p.BeforeExit = func(resign func(context.Context) error) (cancel func()) {
		return h.Lifecycle.OnShutdown(shutdown.ClusterExiting, "coordinator of entity type "+name, resign)
	}
	if !slices.Contains(n.Roles(), role) {
		return p, nil
	}
	var err error
	p.State, err = h.Data(role)
	return p, err
}

// withPreset gives the timers that were left to their defaults values that go with the node's
// preset.
func withPreset[M any](t EntityType[M], preset ddata.Preset) EntityType[M] {
	if preset == ddata.Local {
		if t.RebalanceInterval == 0 {
			t.RebalanceInterval = 100 * time.Millisecond
		}
		if t.RetryInterval == 0 {
			t.RetryInterval = 100 * time.Millisecond
		}
		if t.LeaseRetryInterval == 0 {
			t.LeaseRetryInterval = 100 * time.Millisecond
		}
	}
	return t
}
