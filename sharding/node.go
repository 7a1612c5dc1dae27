package sharding

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Start starts an entity type on a node. On a node without the type's role the region is a proxy.
// All nodes that host or use the type start it, with the same Name, Role, Shards, ShardOf and
// Remember.Entities. Its coordinator is on the first node with the role that has started it, and
// then on the next: so a type that is new to a running cluster serves at once, whatever runs on the
// older nodes. A second Start of the same type on the
// same node returns the region of the first, whose other settings hold; one with another message
// type, or other of these settings, is refused.
//
// The region ends with the node: Node.Leave first hands its shards over. Region.Close does so
// earlier, and the type may be started on the node again.
//
// Errors: ErrConfig (all faults together), ErrAlreadyStarted (also while the region before is being
// closed, or its handlers still run). On a node that has ended: ErrStopped with the reason of its
// end.
func Start[M any](node *ddata.Node, t EntityType[M]) (*Region[M], error) {
	return StartAt(node.Host(), t, !slices.Contains(node.Roles(), t.Role))
}

// StartProxy starts an entity type on a node as a proxy, which sends and asks and never hosts,
// whatever the node's roles are; it needs no New. A node that has the role takes its turn as the
// type's coordinator all the same.
//
// Errors: those of Start.
func StartProxy[M any](node *ddata.Node, t EntityType[M]) (*Region[M], error) {
	return StartAt(node.Host(), t, true)
}

// Lookup is the region of a type that was started on the node.
//
// Errors: ErrNotStarted, ErrAlreadyStarted if the type has another message type.
func Lookup[M any](node *ddata.Node, name string) (*Region[M], error) {
	s, ok := typesOf(node.Host()).find(name)
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
func Types(node *ddata.Node) []string { return typesOf(node.Host()).names() }

// StartAt starts an entity type, as Start or StartProxy, on a node that is known by what it lends
// to extensions. It is for simulations, whose nodes are no ddata.Node.
func StartAt[M any](h host.Host, t EntityType[M], proxy bool) (*Region[M], error) {
	local, hasRole := h.Self.Local, slices.Contains(h.Self.Roles, t.Role)
	faults := t.faults(local)
	faults.Add(hasRole && !proxy && t.New == nil,
		"New", "is missing: this node has the role %q and hosts entities", t.Role)
	faults.Add(hasRole && t.Remember.Entities && t.Remember.Store == nil &&
		!h.Self.Durable && !h.Self.Volatile, "Remember.Entities",
		"needs durable data: set ddata.Config.Dir, or give the type a Remember.Store; to remember "+
			"entities only while a node of the role runs, set ddata.Config.DurableKeys to an empty list")
	faults.Add(hasRole && !proxy && t.Reminders.Enabled && t.Reminders.Store == nil &&
		!h.Self.Durable && !h.Self.Volatile, "Reminders.Enabled",
		"needs durable data: set ddata.Config.Dir, or give the type a Reminders.Store, such as that of "+
			"sharding/persistence/postgres; to keep reminders only while a node of the role runs, set "+
			"ddata.Config.DurableKeys to an empty list")
	if err := configError(t.Name, faults); err != nil {
		return nil, err
	}
	if err := h.Lifecycle.Ended(); err != nil {
		return nil, fmt.Errorf("%w: the node has ended: %w", ErrStopped, err)
	}
	settings := startedSettings{t.machines(Ports{}).Compatibility(), proxy}
	types := typesOf(h)
	types.startMu.Lock()
	defer types.startMu.Unlock()
	if s, ok := types.find(t.Name); ok {
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
	ports, err := types.ports(t.Role, t.Name, proxy)
	if err != nil {
		return nil, err
	}
	absent, err := types.absence(t.Name)
	if err != nil {
		return nil, err
	}
	if ports.Predecessor, err = types.predecessor(absent); err != nil {
		return nil, err
	}
	g, err := StartOn(ports, t)
	if err != nil {
		absent.resume(ports.Predecessor)
		return nil, err
	}
	types.bind(absent, g.run) // before any caller finds and closes it
	types.add(t.Name, startedType{g, g.run, settings})
	types.show()
	return g, nil
}

// startedType is a type that runs on a node.
type startedType struct {
	region   any // *Region[M]
	run      *engine
	settings startedSettings
}

// startedSettings are those in which a second Start of a type must be like the first.
type startedSettings struct {
	protocol.Compatibility
	proxy bool
}

func (s startedSettings) String() string {
	return fmt.Sprintf("{%v proxy=%t}", s.Compatibility, s.proxy)
}
