package ddata

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/disk"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/gossip"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Node is a running member of a cluster. Its methods may be called from any goroutine.
//
//	starting ──Up──► running ──Leave──► leaving ──► ended (ErrLeft)
//	    └───────────────┴──── downed, refused, Close ──► ended (ErrDowned, ErrRefused, ErrClosed)
type Node struct {
	cfg Config
	uid view.UID

	reports     *reports
	life        *life
	end         *ending
	watchers    host.Watchers
	silences    host.Silences
	connections *connections

	parts
	progress *progress // of the replicas

	view  atomic.Pointer[view.View]
	lease publishedLease

	extensions extensions
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
	cfg = cfg.WithDefaults()
	before, least := "", view.UID(0)
	for {
		if err := ctx.Err(); err != nil {
			if before != "" {
				err = fmt.Errorf("%w while waiting: %s", context.Cause(ctx), before)
			}
			return nil, fmt.Errorf("ddata: start %s: %w", cfg.Bind, err)
		}
		n, err := start(ctx, cfg, before, least)
		if _, bound, again := membership.BrokeOff(err); again {
			least = bound
			continue
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-n.life.up:
			leaveOnSignal(cfg.LeaveOnSIGTERM, n)
			return n, nil
		case <-n.life.done:
			if why, bound, again := membership.BrokeOff(n.Err()); again {
				before, least = "the attempt before broke off: "+why, max(least, bound)
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

// start builds one incarnation, from the port upwards. before says why the last one broke off, least which
// uids it may not have.
func start(ctx context.Context, cfg Config, before string, least view.UID) (_ *Node, err error) {
	n := &Node{cfg: cfg, uid: view.DrawUID(time.Now(), least, rand.Uint64()), life: newLife()}
	n.replicas = map[keyspace.Dataset]*Replicator{}
	n.reports = newReports(cfg.Logger.With("node", n.uid.String()), cfg.OnEvent)
	n.progress = newProgress(cfg.Roles, func(in membership.Input) { n.members.post(in) })
	phases := shutdown.New(scheduler.Goroutines{}, cfg.ShutdownTimeouts, func(e shutdown.Ended) {
		n.reports.emit(events.ShutdownPhase{
			Phase: e.Phase.String(), Took: e.Took, Unfinished: e.Unfinished, Err: e.Err,
		})
	})
	n.end = &ending{
		life: n.life, phases: phases, reports: n.reports, built: &n.parts, cut: n.lease.end,
		tell: func(reason error) { tellEnd(&n.watchers, reason) },
	}
	n.connections = &connections{
		cfg: &n.cfg, reports: n.reports, watchers: &n.watchers, before: before, by: map[string]bool{},
		joined: func() bool { return n.View().Epoch > 0 }, give: n.end.finish,
		post: func(in membership.Input) { n.members.post(in) }, // of a peer: members has made it one
	}
	n.view.Store(&view.View{})
	n.lease.init()
	defer func() { // a peer may have refused the node meanwhile, which ends it too
		if err != nil {
			n.end.abandon(err)
		}
		n.life.becomeBuilt()
		if err != nil {
			<-n.life.done
		}
	}()
	if cfg.Dir != "" {
		if n.disk, err = disk.Open(cfg.Dir, cfg.Store, cfg.membership().LeaseDuration, n.reports.emit); err != nil {
			return nil, err
		}
		if err = n.disk.Suits(n.uid, cfg.Roles, n.reports.emit); err != nil {
			return nil, err
		}
	}
	mesh, err := transport.Listen(ctx, n.connections.settings(n.uid))
	if err != nil {
		return nil, fmt.Errorf("ddata: Config.Bind: %w", err)
	}
	n.net = mesh
	n.extensions.unserved = host.NewUnserved(clusterPort{n}, channelsPort{mesh, n}, n.reports.log)
	for _, set := range keyspace.Datasets(cfg.Roles) {
		if n.replicas[set], err = newReplicator(n, set); err != nil {
			return nil, err
		}
	}
	if n.members, err = newMembers(n); err != nil {
		return nil, err
	}
	if n.swim, err = newSwimmer(n.net, gossipSettings(cfg, n.reports, n.members)); err != nil {
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
	mesh.HandleRest(n.extensions.unserved.Handler)
	if cfg.Discovery != nil {
		n.find = startFinder(n)
	}
	return n, nil
}

// gossipSettings are those of the gossip of a node: it tells r what it notes, and m which nodes may
// be there.
func gossipSettings(cfg Config, r *reports, m *members) gossip.Config {
	preset := gossip.LAN
	if cfg.Preset == Local {
		preset = gossip.Local
	}
	return gossip.Config{
		Cluster: cfg.Name, Seeds: cfg.Seeds, Preset: preset,
		OnNote: func(x gossip.Note) {
			r.emit(events.Gossiped{Text: x.Text, Addr: x.Addr, Err: x.Err, Warn: x.Warn})
		},
		OnHint: func(h gossip.Hint) {
			// one that is lost is only a hint
			m.loop.Post(memberInput{
				in: membership.Hint{Addr: h.Addr, UID: view.UID(h.UID), Alive: h.Alive},
			})
		},
	}
}

// UID names this incarnation.
func (n *Node) UID() view.UID { return n.uid }

// ClusterName is Config.Name, the name of the node's cluster.
func (n *Node) ClusterName() string { return n.cfg.Name }

// Addr is the address under which others reach this node.
func (n *Node) Addr() string { return n.net.Addr() }

// Roles are the roles of this node, sorted. The caller must not change the slice.
func (n *Node) Roles() []string { return n.cfg.Roles }

// Durable reports whether this node keeps durable data: it has a Config.Dir, and Config.DurableKeys
// does not switch it off.
func (n *Node) Durable() bool { return n.disk != nil && len(n.cfg.DurableKeys) > 0 }

// StoreStats says what the store in Config.Dir did since the start, and how large it is; all zero
// while no durable key was ever written.
func (n *Node) StoreStats() lmdb.Stats {
	if n.disk == nil {
		return lmdb.Stats{}
	}
	return n.disk.Stats()
}

// TransportStats counts what the node's port did since the start.
func (n *Node) TransportStats() transport.Stats { return n.net.Stats() }

// View is the installed view; before the first one it has no members. It never changes after it was
// handed out.
func (n *Node) View() *view.View { return n.view.Load() }

// Members lists the members of the installed view, by UID. The caller must not change the slice.
func (n *Node) Members() []view.Member { return n.view.Load().Members }

// Unreachable are the members that this node does not hear, and since when. The map is the caller's.
func (n *Node) Unreachable() map[view.UID]time.Time { return n.silences.All() }

// Lease is the node's present right to run entities and singletons. Read it at the moment of
// acting, and ask it with the time of that moment. A node that ends has none from the beginning of
// its end.
func (n *Node) Lease() nodelease.Lease { return *n.lease.now.Load() }

// HoldsLease reports whether the node may run entities and singletons at this moment.
func (n *Node) HoldsLease() bool { return n.lease.holds() }

// Done is closed when the node has ended, for whatever reason.
func (n *Node) Done() <-chan struct{} { return n.life.done }

// Err says why the node has ended: nil while it runs, ErrClosed, ErrLeft, ErrDowned, or ErrRefused.
func (n *Node) Err() error {
	select {
	case <-n.life.done:
		return n.life.why()
	default:
		return nil
	}
}
