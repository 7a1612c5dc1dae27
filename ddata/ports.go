package ddata

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Host lends the node to an extension; see package host. Applications do not need it.
func (n *Node) Host() host.Host {
	data := func(reserved bool) func(string) (host.Data, error) {
		return func(role string) (host.Data, error) {
			r, err := replicaOf(n, keyspace.Dataset{Role: role, Reserved: reserved})
			if err != nil {
				return nil, err
			}
			return drivers.Data{Host: dataPort{r}}, nil
		}
	}
	return host.Host{
		Self: host.Self{
			ClusterName: n.ClusterName(), Addr: n.Addr(), Roles: n.Roles(), Durable: n.Durable(),
			Volatile: n.cfg.DurableKeys != nil && len(n.cfg.DurableKeys) == 0, Local: n.cfg.Preset == Local,
			MinMembers: n.cfg.PerRole.MinMembers(), Heartbeat: membersDriver(n.members).Machine().HeartbeatInterval(),
		},
		Cluster: clusterPort{n}, Lease: leasePort{n}, Channels: channelsPort{n.net, n}, Lifecycle: lifecyclePort{n},
		Attached: &n.extensions.attached, Data: data(true), UserData: data(false), Scheduler: scheduler.Goroutines{},
		Emit: n.reports.emit, OnEvent: n.reports.listen, Meter: n.cfg.Meter, Tracer: n.cfg.Tracer, Log: n.reports.log,
	}
}

type clusterPort struct{ n *Node }

var _ host.Cluster = clusterPort{}

// UID implements host.Cluster.
func (c clusterPort) UID() view.UID { return c.n.uid }

// View implements host.Cluster.
func (c clusterPort) View() *view.View {
	if v := c.n.View(); v.Epoch > 0 {
		return v
	}
	return nil
}

// Offer implements host.Cluster.
func (c clusterPort) Offer(s view.Service) { c.n.members.post(membership.Offer{Service: s}) }

// OnView implements host.Cluster.
func (c clusterPort) OnView(fn func(*view.View)) (cancel func()) {
	return c.n.watch(host.Watcher{View: fn, End: func(error) { fn(nil) }})
}

// OnReachable implements host.Cluster.
func (c clusterPort) OnReachable(fn func(view.UID, bool)) (cancel func()) {
	return c.n.watch(host.Watcher{Reachable: fn})
}

type leasePort struct{ n *Node }

var _ host.Lease = leasePort{}

// Holds implements host.Lease.
func (l leasePort) Holds() bool { return l.n.HoldsLease() }

// OnLease implements host.Lease.
func (l leasePort) OnLease(fn func(bool)) (cancel func()) { return l.n.watch(host.Watcher{Lease: fn}) }

// channelsPort is the node's transport, without what belongs to the node: its peers and its end.
type channelsPort struct {
	transport.Transport
	n *Node
}

var _ host.Channels = channelsPort{}

// Claim implements host.Channels.
func (c channelsPort) Claim(ch transport.Channel) (promised []byte) {
	return c.n.extensions.unserved.Claim(ch)
}

// OnLink implements host.Channels.
func (c channelsPort) OnLink(fn func(transport.LinkEvent)) (cancel func()) {
	return c.n.watch(host.Watcher{Link: fn})
}

type lifecyclePort struct{ n *Node }

var _ host.Lifecycle = lifecyclePort{}

// OnShutdown implements host.Lifecycle.
func (l lifecyclePort) OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func()) {
	return l.n.OnShutdown(phase, name, task)
}

// OnHealth implements host.Lifecycle.
func (l lifecyclePort) OnHealth(check func() []string) (cancel func()) {
	return l.n.extensions.addCheck(check)
}

// OnEnd implements host.Lifecycle.
func (l lifecyclePort) OnEnd(fn func(error)) (cancel func()) { return l.n.watch(host.Watcher{End: fn}) }

// Ended implements host.Lifecycle.
func (l lifecyclePort) Ended() error { return l.n.life.why() }

// Broken implements host.Lifecycle.
func (l lifecyclePort) Broken(name string, b runloop.Broken, state fmt.Stringer) {
	l.n.broken(name, b, state)
}

// dataPort is a Replicator for callers that do not wait. An operation ends when the machine says
// so, or the node ends.
type dataPort struct{ r *Replicator }

var (
	_ drivers.DataHost = dataPort{}
	_ host.Data        = drivers.Data{}
)

// Operate implements drivers.DataHost.
func (p dataPort) Operate(level quorum.Level, timeout time.Duration,
	in func(uint64, time.Duration) replicator.Input, done func(effect.Result)) {
	if timeout <= 0 {
		timeout = p.r.n.cfg.RequestTimeout
	}
	id := p.r.number.Add(1)
	if !p.r.loop.Post(request{in: in(id, timeout), id: id, level: level, done: done}) {
		done(effect.Result{Err: p.r.refusal()})
	}
}

// Follow implements drivers.DataHost.
func (p dataPort) Follow(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	s := &subscription{follow: fn}
	s.open(p.r, prefix, true)
	return func() { s.close(p.r) }
}

// Explain implements drivers.DataHost.
func (p dataPort) Explain(what, key string, level quorum.Level, err error) error {
	return p.r.wrap(what, key, level, err)
}
