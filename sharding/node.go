package sharding

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Start starts an entity type on a node. Call it on every node that is to host its entities, with the same type, and on any other node that is to
// talk to them: without the type's role the region is a proxy. A type that is started again, with the same message type, gives the region that
// runs already.
//
// Errors: ErrConfig with every fault of the type, ErrUnknownRole, ErrAlreadyStarted.
func Start[M any](n *ddata.Node, t EntityType[M]) (*Region[M], error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	p, err := portsOf(n, t.Role, t.RememberEntities)
	if err != nil {
		return nil, fmt.Errorf("entity type %q: %w", t.Name, err)
	}
	if n.Preset() == ddata.Local {
		quicken(&t)
	}
	started.mu.Lock()
	defer started.mu.Unlock()
	k := startedKey{n, t.Name}
	if there, ok := started.regions[k]; ok {
		if r, ok := there.(*Region[M]); ok {
			return r, nil
		}
		return nil, fmt.Errorf("%w: %q, for other messages", ErrAlreadyStarted, t.Name)
	}
	r, err := StartOn(p, t)
	if err != nil {
		return nil, err
	}
	started.regions[k] = r
	n.Watch(ddata.Watcher{End: func(error) {
		go func() { // what ends may not wait for what watches it
			started.mu.Lock()
			delete(started.regions, k)
			started.mu.Unlock()
			_ = r.Close(ended)
		}()
	}})
	return r, nil
}

// ended is the context of those who have no time to hand anything over: the node is gone.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// started knows the regions of this process, so that a type is not started twice on a node.
var started = struct {
	mu      sync.Mutex
	regions map[startedKey]any
}{regions: map[startedKey]any{}}

type startedKey struct {
	node *ddata.Node
	name string
}

// quicken gives the timers that were left to their defaults values that go with ddata.Local.
func quicken[M any](t *EntityType[M]) {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&t.RebalanceInterval, 100*time.Millisecond)
	def(&t.RetryInterval, 100*time.Millisecond)
}

func portsOf(n *ddata.Node, role string, remember bool) (Ports, error) {
	p := Ports{
		Cluster: nodeCluster{n}, Lease: nodeLease{n}, Network: nodeNetwork{n.Transport(), n},
		BeforeLeave: n.BeforeLeave, Log: n.Log(),
	}
	if slices.Contains(n.Roles(), role) {
		if remember && !n.Durable() {
			return p, fmt.Errorf("%w: RememberEntities needs a node with a ddata.Config.Dir", ErrConfig)
		}
		r, err := n.Replicator(role)
		p.State = nodeState{r}
		return p, err
	}
	if len(n.View().ByRole(role)) == 0 {
		return p, fmt.Errorf("%w: %q is a role neither of this node (%q) nor of a member of %v", ErrUnknownRole, role, n.Roles(), n.View())
	}
	return p, nil
}

// nodeCluster makes a node a Cluster.
type nodeCluster struct{ n *ddata.Node }

// UID implements Cluster.
func (c nodeCluster) UID() membership.UID { return c.n.UID() }

// View implements Cluster.
func (c nodeCluster) View() *membership.View {
	if v := c.n.View(); v.Epoch > 0 {
		return v
	}
	return nil
}

// OnView implements Cluster.
func (c nodeCluster) OnView(fn func(*membership.View)) (cancel func()) {
	return c.n.Watch(ddata.Watcher{View: fn, End: func(error) { fn(nil) }})
}

// OnReachable implements Cluster.
func (c nodeCluster) OnReachable(fn func(membership.UID, bool)) (cancel func()) {
	return c.n.Watch(ddata.Watcher{Reachable: fn})
}

// nodeLease makes a node's lease a Lease.
type nodeLease struct{ n *ddata.Node }

// Holds implements Lease.
func (l nodeLease) Holds() bool { return l.n.HoldsLease() }

// OnLease implements Lease.
func (l nodeLease) OnLease(fn func(bool)) (cancel func()) {
	return l.n.Watch(ddata.Watcher{Lease: fn})
}

// nodeState makes a role's Replicator a State.
type nodeState struct{ r *ddata.Replicator }

// Update implements State.
func (s nodeState) Update(key string, timeout time.Duration, mutate func(*crdt.Tx) error, done func(error)) {
	s.r.WriteThen(key, ddata.WriteMajority, timeout, mutate, done)
}

// Get implements State.
func (s nodeState) Get(key string, timeout time.Duration, done func(crdt.Reader, error)) {
	s.r.ReadThen(key, ddata.ReadMajority, timeout, done)
}

// Subscribe implements State.
func (s nodeState) Subscribe(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	return s.r.Follow(prefix, func(c ddata.Change) { fn(c.Key, c.Reader) })
}

// nodeNetwork makes a node's transport a Network.
type nodeNetwork struct {
	transport.Transport
	n *ddata.Node
}

// OnLink implements Network.
func (w nodeNetwork) OnLink(fn func(transport.LinkEvent)) (cancel func()) {
	return w.n.Watch(ddata.Watcher{Link: fn})
}

var (
	_ Cluster = nodeCluster{}
	_ Lease   = nodeLease{}
	_ State   = nodeState{}
	_ Network = nodeNetwork{}
)
