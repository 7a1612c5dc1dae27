package thousand

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

var (
	_ host.Cluster   = cluster{}
	_ host.Lease     = lease{}
	_ host.Lifecycle = life{}
)

type cluster struct{ n *node }

// UID implements host.Cluster.
func (c cluster) UID() view.UID { return view.UID(c.n.uid) }

// View implements host.Cluster.
func (c cluster) View() *view.View { return c.n.mem.view }

// Offer implements host.Cluster.
func (c cluster) Offer(s view.Service) {
	c.n.w.after(0, c.n, func() { c.n.mem.step(membership.Offer{Service: s}) })
}

// OnView implements host.Cluster.
func (c cluster) OnView(fn func(*view.View)) (cancel func()) {
	cancel, _ = c.n.watchers.Add(host.Watcher{View: fn, End: func(error) { fn(nil) }})
	return cancel
}

// OnReachable implements host.Cluster.
func (c cluster) OnReachable(fn func(view.UID, bool)) (cancel func()) {
	cancel, _ = c.n.watchers.Add(host.Watcher{Reachable: fn})
	return cancel
}

type lease struct{ n *node }

// Holds implements host.Lease.
func (l lease) Holds() bool { return l.n.mem.holds() }

// OnLease implements host.Lease.
func (l lease) OnLease(fn func(bool)) (cancel func()) {
	cancel, _ = l.n.watchers.Add(host.Watcher{Lease: fn})
	return cancel
}

type life struct{ n *node }

// OnShutdown implements host.Lifecycle.
func (l life) OnShutdown(phase shutdown.Phase, name string, task func(context.Context) error) (cancel func()) {
	return l.n.phases.Add(phase, name, task)
}

// OnHealth implements host.Lifecycle. Nothing asks for the health of a played node.
func (l life) OnHealth(func() []string) (cancel func()) { return func() {} }

// OnEnd implements host.Lifecycle.
func (l life) OnEnd(fn func(error)) (cancel func()) {
	cancel, ended := l.n.watchers.Add(host.Watcher{End: fn})
	if ended != nil {
		l.n.rt.Go(func() { fn(ended) })
	}
	return cancel
}

// Ended implements host.Lifecycle.
func (l life) Ended() error { return l.n.reason }

// Broken implements host.Lifecycle.
func (l life) Broken(name string, b runloop.Broken, _ fmt.Stringer) {
	if l.n.alive {
		l.n.w.fail("%s: %s: %v\n%s", l.n.slot.addr, name, b.Value, b.Stack)
	}
}
