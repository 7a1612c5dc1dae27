package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/proptest/sim/planted"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// node is what a process lends to its extensions (package host). Everything of theirs enters the
// process by its routines.
type node struct {
	p        *Process
	wires    *wires
	watchers host.Watchers
	phases   *shutdown.Sequence
	attached host.Attached
	view     *view.View // nil: none was installed
	reason   error      // why the node ends; nil: it does not
}

var (
	_ host.Cluster     = nodeCluster{}
	_ host.Lease       = nodeLease{}
	_ host.Lifecycle   = nodeLife{}
	_ drivers.DataHost = nodeData{}
)

func newNode(p *Process) *node {
	n := &node{p: p, phases: shutdown.New(p.rt, nil, nil)}
	n.wires = newWires(p, &n.watchers)
	n.wires.unserved = host.NewUnserved(nodeCluster{n}, n.wires, slog.New(slog.DiscardHandler))
	return n
}

// host is the port of the node.
func (n *node) host() host.Host {
	return host.Host{
		Self: host.Self{ClusterName: "sim", Addr: n.p.slot.addr, Roles: n.p.slot.roles,
			Durable: !n.p.w.opt.VolatileIDs, Volatile: n.p.w.opt.VolatileIDs, Heartbeat: n.p.mem.m.HeartbeatInterval()},
		Cluster: nodeCluster{n}, Lease: nodeLease{n}, Channels: n.wires, Lifecycle: nodeLife{n},
		Attached: &n.attached, Scheduler: n.p.rt, Log: slog.New(slog.DiscardHandler),
		Emit:     func(e events.Event) { n.p.w.trace.Line(n.p, "EVENT %v", e) },
		Data:     func(role string) (host.Data, error) { return n.data(reserved(role)) },
		UserData: func(role string) (host.Data, error) { return n.data(keyspace.Dataset{Role: role}) },
	}
}

func (n *node) data(set keyspace.Dataset) (host.Data, error) {
	of := n.p.reps.of(set)
	if of == nil {
		return nil, fmt.Errorf("no role %q", set.Role)
	}
	return forgetful{drivers.Data{Host: nodeData{of}}, n.p.w.planted}, nil
}

// connect makes the members of a view known, before anything is sent to them.
func (n *node) connect(v *view.View) {
	n.view = v
	n.wires.connect(v)
}

// install tells of a view.
func (n *node) install(v *view.View) { n.p.rt.Enter(func() { n.watchers.TellView(n.shown(v)) }) }

// shown is a view as extensions get it.
func (n *node) shown(v *view.View) *view.View {
	planted := n.p.w.planted
	if v == nil || !planted.Unaware && !planted.OldestOfAll {
		return v
	}
	shown := *v
	shown.Closing = shown.Closing && !planted.Unaware
	if oldest, ok := v.Oldest(""); ok && planted.OldestOfAll {
		shown.Lines = slices.Clone(v.Lines)
		for i := range shown.Lines {
			shown.Lines[i].Members = []view.UID{oldest.UID}
		}
	}
	return &shown
}

// reachable tells of a member.
func (n *node) reachable(uid view.UID, is bool) {
	n.p.rt.Enter(func() { n.watchers.TellReachable(uid, is) })
}

// leaseChanged tells of the lease.
func (n *node) leaseChanged(held bool) { n.p.rt.Enter(func() { n.watchers.TellLease(held) }) }

// handOverPhases are those before the members decide a view without the node.
var handOverPhases = []shutdown.Phase{shutdown.ClusterLeave, shutdown.ShardingShutdownRegion, shutdown.ClusterExiting}

// flushMost is how long a node that leaves waits for the receipts of what it has sent.
const flushMost = 5 * time.Second

// leave hands over what runs here, and then calls stopped.
func (n *node) leave(stopped func()) {
	n.p.rt.Go(func() {
		if n.phases.Run(context.Background(), handOverPhases...) != nil {
			return // the node ends
		}
		for end := n.p.Time().Add(flushMost); !n.wires.flushed() && n.p.Time().Before(end); {
			n.p.rt.Sleep(20 * time.Millisecond)
		}
		stopped()
	})
}

// end ends the node: the lease first, then what stands on the node. over is called when all that
// has ended.
func (n *node) end(reason error, over func()) {
	if n.reason != nil {
		return
	}
	n.reason = reason
	n.p.rt.Go(func() {
		all := scheduler.NewGroup(n.p.rt)
		for _, end := range n.watchers.End(reason) {
			all.Go(func() { end(reason) })
		}
		all.Wait()
		over()
	})
}

type nodeCluster struct{ n *node }

// UID implements host.Cluster.
func (c nodeCluster) UID() view.UID { return view.UID(c.n.p.uid) }

// View implements host.Cluster.
func (c nodeCluster) View() *view.View { return c.n.shown(c.n.view) }

// Offer implements host.Cluster.
func (c nodeCluster) Offer(s view.Service) {
	p := c.n.p
	p.effect(func() { p.mem.step(membership.Offer{Service: s}) })
}

// OnView implements host.Cluster.
func (c nodeCluster) OnView(fn func(*view.View)) (cancel func()) {
	cancel, _ = c.n.watchers.Add(host.Watcher{View: fn, End: func(error) { fn(nil) }})
	return cancel
}

// OnReachable implements host.Cluster.
func (c nodeCluster) OnReachable(fn func(view.UID, bool)) (cancel func()) {
	cancel, _ = c.n.watchers.Add(host.Watcher{Reachable: fn})
	return cancel
}

type nodeLease struct{ n *node }

// Holds implements host.Lease.
func (l nodeLease) Holds() bool {
	p := l.n.p
	return p.alive && l.n.reason == nil && (p.mem.holds(p.Time()) || p.w.planted.Unfenced)
}

// OnLease implements host.Lease.
func (l nodeLease) OnLease(fn func(bool)) (cancel func()) {
	cancel, _ = l.n.watchers.Add(host.Watcher{Lease: fn})
	return cancel
}

type nodeLife struct{ n *node }

// OnShutdown implements host.Lifecycle.
func (l nodeLife) OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func()) {
	return l.n.phases.Add(phase, name, task)
}

// OnHealth implements host.Lifecycle. Nothing asks for the health of a simulated node.
func (l nodeLife) OnHealth(func() []string) (cancel func()) { return func() {} }

// OnEnd implements host.Lifecycle.
func (l nodeLife) OnEnd(fn func(error)) (cancel func()) {
	cancel, ended := l.n.watchers.Add(host.Watcher{End: fn})
	if ended != nil {
		l.n.p.rt.Go(func() { fn(ended) })
	}
	return cancel
}

// Ended implements host.Lifecycle.
func (l nodeLife) Ended() error { return l.n.reason }

// Broken implements host.Lifecycle.
func (l nodeLife) Broken(name string, b runloop.Broken, state fmt.Stringer) {
	if !l.n.p.alive {
		return // its routines are unwound
	}
	l.n.p.w.violate("no machine breaks", "%v: %s: %v\n%s\n%v", l.n.p, name, b.Value, b.Stack, state)
}

type nodeData struct{ r *replicaHost }

// Operate implements drivers.DataHost.
func (d nodeData) Operate(_ quorum.Level, timeout time.Duration,
	in func(id uint64, timeout time.Duration) replicator.Input, done func(effect.Result)) {
	p := d.r.p
	p.post(func() {
		d.r.call(func(id uint64) replicator.Input { return in(id, timeout) },
			func(r effect.Result) { p.rt.Enter(func() { done(r) }) })
	})
}

// Follow implements drivers.DataHost.
func (d nodeData) Follow(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	p := d.r.p
	var id uint64
	p.post(func() {
		d.r.subscribe(replicator.Subscribe{Prefix: prefix, All: true}, func(c effect.Change) {
			p.rt.Enter(func() { fn(c.Key, c.Reader) })
		})
		id = d.r.nextID
	})
	return func() {
		p.post(func() {
			delete(d.r.subs, id)
			d.r.step(replicator.Unsubscribe{ID: id})
		})
	}
}

// Explain implements drivers.DataHost.
func (d nodeData) Explain(what, key string, level quorum.Level, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q at %v: %w", what, key, level, err)
}

// forgetful is the port to the replica, with what is planted in it.
type forgetful struct {
	drivers.Data
	planted planted.Defects
}

// Update implements host.Data.
func (d forgetful) Update(key string, level quorum.Level, timeout time.Duration,
	mutate func(*crdt.Tx) error, done func(error)) {
	if d.planted.Forgetful && strings.Contains(key, "/ids/") {
		done(nil)
		return
	}
	d.Data.Update(key, level, timeout, mutate, done)
}

// Get implements host.Data.
func (d forgetful) Get(key string, level quorum.Level, timeout time.Duration, done func(crdt.Reader, error)) {
	if d.hides(key) {
		done(crdt.Reader{}, nil)
		return
	}
	d.Data.Get(key, level, timeout, done)
}

// Watch implements host.Data.
func (d forgetful) Watch(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	return d.Data.Watch(prefix, func(key string, r crdt.Reader) {
		if !d.hides(key) {
			fn(key, r)
		}
	})
}

// hides reports whether the coordinator is not told of a key.
func (d forgetful) hides(key string) bool {
	return d.planted.Unlocated && strings.HasSuffix(key, "/locations")
}
