package ddata

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/gossip"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// Node is a running member of a cluster. Its methods may be called from any goroutine.
//
//	starting ──Up──► running ──Leave──► leaving ──► ended (ErrLeft)
//	    └───────────────┴──── downed, refused, Close ──► ended (ErrDowned, ErrRefused, ErrClosed)
type Node struct {
	cfg Config
	uid membership.UID
	log *slog.Logger

	before string // why the incarnation before broke off; empty when it is the first

	listeners []events.Listener // the log, and the user's
	counts    events.Counts
	panics    atomic.Uint64 // of the user's code, that were survived

	net  transport.Transport
	swim *gossip.Gossip
	find *finder // nil without Config.Discovery
	disk *disk   // nil without Config.Dir

	members  *members
	replicas map[string]*Replicator // by role; fixed after start

	view  atomic.Pointer[membership.View]
	lease publishedLease

	refusal  atomic.Pointer[string] // the last connection that another node refused
	undialed atomic.Pointer[undialed]
	refusers map[string]bool // addresses that refused this node for good; guarded by mu

	mu       sync.Mutex
	watchers map[int]Watcher
	nextID   int
	checks   map[int]func() []string // of extensions; guarded by mu
	phases   *shutdown.Sequence      // of the end
	leaving  atomic.Bool

	singletons map[string]*Singleton // by name
	attached   host.Attached
	unserved   *host.Unserved
	progress   progress

	started bool          // the loops run
	once    sync.Once     // closes up
	up      chan struct{} // closed when the node is Up, with its data and its lease
	ended   error         // why it ends, nil while it runs; guarded by mu
	over    atomic.Bool   // ended is set: for goroutines that read without the lock
	unmeter func()        // ends what the Meter reads; nil without one
	ending  chan struct{} // closed when it begins to end
	done    chan struct{} // closed when the node has ended
}

// Start starts a node and returns when it is Up, has the data of its roles and holds its lease, or
// when ctx ends.
//
// A cluster that is founded by several nodes (Config.BootstrapExpect) needs all of them to be
// starting: a test that runs them in one process starts each in a goroutine of its own.
//
// An attempt that breaks off before the node is Up is made again, under a new uid: a founding that
// does not come to an end, a cluster that stops or goes on without the node meanwhile.
//
// Errors: a faulty Config (all faults together), an address in use, a directory that is foreign,
// damaged, unwritable or in use, ErrRefused by the cluster, ErrDowned by an operator, ctx's error
// with what the node was waiting for.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	var before string
	for {
		if err := ctx.Err(); err != nil {
			if before != "" {
				err = fmt.Errorf("%w while waiting: %s", context.Cause(ctx), before)
			}
			return nil, fmt.Errorf("ddata: start %s: %w", cfg.Bind, err)
		}
		n, err := start(ctx, cfg, before)
		if err != nil {
			return nil, err
		}
		select {
		case <-n.up:
			n.leaveOnSignal()
			return n, nil
		case <-n.done:
			if why, again := brokeOff(n.Err()); again {
				before = "the attempt before broke off: " + why
				continue
			}
			return nil, fmt.Errorf("ddata: start %s: %w", cfg.Bind, n.Err())
		case <-ctx.Done():
			waiting := n.members.waiting()
			_ = n.Close()
			return nil, fmt.Errorf("ddata: start %s: %w while waiting: %s", cfg.Bind, context.Cause(ctx), waiting)
		}
	}
}

// brokeOff reports whether an incarnation that has ended before it was Up is tried again, under a
// new uid, and why it ended. It has run nothing, so nothing is lost; the cluster only goes on
// without it, or was not founded.
func brokeOff(err error) (why string, again bool) {
	if stalled, ok := errors.AsType[*membership.StalledError](err); ok {
		return stalled.Waiting, true
	}
	if downed, ok := errors.AsType[*membership.DownedError](err); ok && !downed.ByOperator {
		return downed.Cause, true
	}
	return "", false
}

// start builds one incarnation, from the port upwards. before says why the last one broke off.
func start(ctx context.Context, cfg Config, before string) (_ *Node, err error) {
	n := &Node{
		cfg: cfg, uid: membership.UID(rand.Uint64() | 1), before: before,
		watchers: map[int]Watcher{}, replicas: map[string]*Replicator{}, refusers: map[string]bool{},
		up: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
	n.progress = progress{caughtUp: map[string]bool{}, settled: map[string]membership.Epoch{}, moved: map[string]uint16{}}
	n.log = cfg.Logger.With("node", n.uid.String())
	n.listeners = []events.Listener{events.Log(n.log), cfg.EventListener}
	n.phases = shutdown.New(cfg.ShutdownTimeouts, func(e shutdown.Ended) {
		n.emit(events.ShutdownPhase{Phase: e.Phase.String(), Took: e.Took, Unfinished: e.Unfinished, Err: e.Err})
	})
	n.view.Store(&membership.View{})
	n.lease.init()
	defer func() {
		if err != nil {
			n.release()
		}
	}()
	if cfg.Dir != "" {
		if n.disk, err = openDisk(cfg, n.emit); err != nil {
			return nil, err
		}
		if err = n.disk.warnRoles(cfg.Roles, n.emit); err != nil {
			return nil, err
		}
	}
	mesh, err := transport.Listen(ctx, n.transportConfig())
	if err != nil {
		return nil, fmt.Errorf("ddata: Config.Bind: %w", err)
	}
	n.net = mesh
	n.unserved = host.NewUnserved(clusterPort{n}, channelsPort{mesh, n}, n.log)
	for _, role := range cfg.Roles {
		if n.replicas[role], err = newReplicator(n, role); err != nil {
			return nil, err
		}
	}
	if n.members, err = newMembers(n); err != nil {
		return nil, err
	}
	if n.swim, err = gossip.New(n.net, n.gossipConfig()); err != nil {
		return nil, err
	}
	n.started = true
	if cfg.Meter != nil {
		n.unmeter = cfg.Meter.Read(n.reportMetrics)
	}
	for _, r := range n.replicas {
		r.start()
	}
	n.members.start()
	mesh.HandleRest(n.unserved.Handler)
	if cfg.Discovery != nil {
		n.find = startFinder(n)
	}
	return n, nil
}

func (n *Node) transportConfig() transport.Config {
	c := n.cfg.Transport
	c.Cluster, c.Self = n.cfg.Name, transport.NodeID(n.uid)
	c.Bind, c.Advertise, c.TLS, c.Network = n.cfg.Bind, n.cfg.Advertise, n.cfg.TLS, n.cfg.Network
	c.OnRefused, c.OnLink = n.refused, n.linkChanged
	c.OnFault = n.faulted
	return c
}

func (n *Node) gossipConfig() gossip.Config {
	preset := gossip.LAN
	if n.cfg.Preset == Local {
		preset = gossip.Local
	}
	return gossip.Config{
		Cluster: n.cfg.Name, Seeds: n.cfg.Seeds, Preset: preset,
		OnNote: func(x gossip.Note) { n.emit(events.Gossiped{Text: x.Text, Addr: x.Addr, Err: x.Err, Warn: x.Warn}) },
		OnHint: func(h gossip.Hint) {
			n.members.loop.Post(memberInput{in: membership.Hint{Addr: h.Addr, UID: membership.UID(h.UID), Alive: h.Alive}}) // one that is lost is only a hint
		},
	}
}

// refused tells of connections that were refused on either side. A node that is in no cluster yet
// and is refused by all its seeds for good gives up: its name or its version is wrong.
func (n *Node) refused(r transport.Refusal) {
	n.emit(events.ConnectionRefused{Refusal: r})
	text := r.String()
	if r.Inbound && r.Cause.Reason != transport.RefusedTLS || n.View().Epoch > 0 || r.Cause.Reason == transport.RefusedSelf { // discovery may name this node as well
		return
	}
	asked := slices.Contains(n.cfg.Seeds, r.Addr)
	switch {
	case r.Cause.Reason != transport.RefusedCluster:
	case asked || n.cfg.Discovery != nil:
		text += "; check Config.Name and Config.Seeds or Discovery"
	default:
		text += "; the address was that of a member once, and another cluster uses it now"
	}
	if r.Cause.Reason == transport.RefusedTLS {
		text += "; check Config.TLS on both sides: the certificates, their names and authorities, and that both use it"
	}
	n.refusal.Store(&text)
	if r.Inbound || !asked || r.Cause.Reason != transport.RefusedCluster && r.Cause.Reason != transport.RefusedVersion || n.cfg.Discovery != nil { // which may name others next
		return
	}
	n.mu.Lock()
	n.refusers[r.Addr] = true
	all := true
	for _, seed := range n.cfg.Seeds {
		all = all && (n.refusers[seed] || seed == n.cfg.Bind || seed == n.cfg.Advertise)
	}
	n.mu.Unlock()
	if all {
		n.finish(fmt.Errorf("%w: %s", ErrRefused, text))
	}
}

// faulted tells of connections that broke or could not be made.
func (n *Node) faulted(f transport.Fault) {
	if f.Kind == transport.FaultDial {
		n.undialed.Store(&undialed{time.Now(), f.String()})
	}
	n.emit(events.ConnectionFault{Fault: f})
}

// UID names this incarnation.
func (n *Node) UID() membership.UID { return n.uid }

// ClusterName is Config.Name, the name of the node's cluster.
func (n *Node) ClusterName() string { return n.cfg.Name }

// Addr is the address under which others reach this node.
func (n *Node) Addr() string { return n.net.Addr() }

// Roles are the roles of this node, sorted. The caller must not change the slice.
func (n *Node) Roles() []string { return n.cfg.Roles }

// Durable says whether this node keeps durable data: it has a Config.Dir, and Config.DurableKeys
// does not switch it off.
func (n *Node) Durable() bool { return n.disk != nil && len(n.cfg.DurableKeys) > 0 }

// StoreStats says what the store in Config.Dir did since the start, and how large it is; all zero
// while no durable key was ever written.
func (n *Node) StoreStats() lmdb.Stats {
	if n.disk == nil {
		return lmdb.Stats{}
	}
	return n.disk.env.Stats()
}

// TransportStats counts what the node's port did since the start.
func (n *Node) TransportStats() transport.Stats { return n.net.Stats() }

// Preset is the choice of timers that the node runs with.
func (n *Node) Preset() Preset { return n.cfg.Preset }

// View is the installed view; before the first one it has no members. It never changes after it was
// handed out.
func (n *Node) View() *membership.View { return n.view.Load() }

// Members lists the members of the installed view, by UID. The caller must not change the slice.
func (n *Node) Members() []membership.Member { return n.view.Load().Members }

// Lease is the node's present right to run entities and singletons. Read it at the moment of
// acting, and ask it with the time of that moment. A node that ends has none from the beginning of
// its end.
func (n *Node) Lease() membership.Lease { return *n.lease.now.Load() }

// HoldsLease says whether the node may run entities and singletons at this moment.
func (n *Node) HoldsLease() bool {
	l := n.lease.now.Load()
	return l.Forever() || l.Holds(time.Now()) // the clock is a good part of what a message to an entity costs
}

// Done is closed when the node has ended, for whatever reason.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err says why the node has ended: nil while it runs, ErrClosed, ErrLeft, ErrDowned, or ErrRefused.
func (n *Node) Err() error {
	select {
	case <-n.done:
		return n.endReason()
	default:
		return nil
	}
}
