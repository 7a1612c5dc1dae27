package hosttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// ErrEnded is why a Node has ended.
var ErrEnded = errors.New("hosttest: the test has ended the node")

// Node is the only member of a cluster, Up from the beginning and with its lease. It has data of its
// roles, which are durable. Its methods may be called from any goroutine, also from handlers of what
// stands on the node: no call waits for those, except End.
type Node struct {
	s        scheduler.Scheduler
	data     *Data
	member   view.Member
	watchers host.Watchers
	attached host.Attached
	emit     func(events.Event)
	lost     atomic.Bool // the lease
	broken   func(string)

	mu     sync.Mutex
	view   *view.View
	offers []view.Service
	ended  error
	tell   []func() // callbacks that are due, in order
	tells  bool     // they are being called
}

// Config is what a Node is made of.
type Config struct {
	// Scheduler has the time, and runs what the node calls. Required.
	Scheduler scheduler.Scheduler
	// Roles of the node. Required.
	Roles []string
	// Data is that of all roles. Default: none yet.
	Data *Data
	// Before is the node that this one takes the place of, after it has ended: this one is another
	// incarnation, in a later view. Default: none, and the node founds the cluster.
	Before *Node
	// Emit takes events. Default: they are dropped.
	Emit func(events.Event)
	// Broken is told that a machine of an extension has panicked. Default: a panic.
	Broken func(text string)
}

// NewNode starts a node.
func NewNode(c Config) *Node {
	n := &Node{s: c.Scheduler, data: c.Data, emit: c.Emit, broken: c.Broken}
	if n.data == nil {
		n.data = NewData(c.Scheduler)
	}
	if n.emit == nil {
		n.emit = func(events.Event) {}
	}
	if n.broken == nil {
		n.broken = func(text string) { panic(text) }
	}
	next := view.View{Format: format.Build().Max, Era: 1, Epoch: 1}
	if c.Before != nil {
		next = *c.Before.View()
		next.Epoch++
	}
	next.LastUp++
	n.member = view.Member{
		UID: view.UID(1000 + next.LastUp), Addr: fmt.Sprintf("10.0.0.%d:7946", next.LastUp%250),
		Roles: slices.Clone(c.Roles), Status: view.Up, UpNumber: next.LastUp,
	}
	next.Members, next.Lines = []view.Member{n.member}, nil
	n.view = &next
	return n
}

// Host is what the node lends.
func (n *Node) Host() host.Host {
	data := func(role string) (host.Data, error) {
		if !n.member.HasRole(role) {
			return nil, fmt.Errorf("hosttest: the node has no role %q", role)
		}
		return n.data, nil
	}
	return host.Host{
		Self:    host.Self{ClusterName: "test", Addr: n.member.Addr, Roles: n.member.Roles, Durable: true},
		Cluster: n, Lease: lease{n}, Channels: NoChannels{}, Lifecycle: life{n}, Attached: &n.attached,
		Data: data, UserData: data, Scheduler: n.s, Emit: n.emit,
		OnEvent: func(events.Listener) (cancel func()) { return func() {} }, Log: slog.New(slog.DiscardHandler),
	}
}

// Data is the data of all roles of the node.
func (n *Node) Data() *Data { return n.data }

// HoldLease takes the lease from the node, or gives it back.
func (n *Node) HoldLease(held bool) {
	if n.lost.Swap(!held) == held {
		n.later(func() { n.watchers.TellLease(held) })
	}
}

// End ends the node as a crash does: without its lease. It waits for what stands on the node to end.
// It is called by what the scheduler runs.
func (n *Node) End() {
	n.mu.Lock()
	first := n.ended == nil
	n.ended = ErrEnded
	n.mu.Unlock()
	if !first {
		return
	}
	all := scheduler.NewGroup(n.s)
	for _, end := range n.watchers.End(ErrEnded) {
		all.Go(func() { end(ErrEnded) })
	}
	all.Wait()
}

// later calls fn beside the caller, behind what is due before it.
func (n *Node) later(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = append(n.tell, fn)
	if !n.tells {
		n.tells = true
		n.s.Go(n.callAll)
	}
}

func (n *Node) callAll() {
	for {
		n.mu.Lock()
		due := n.tell
		n.tell, n.tells = nil, len(due) > 0
		n.mu.Unlock()
		if len(due) == 0 {
			return
		}
		for _, fn := range due {
			fn()
		}
	}
}

var _ host.Cluster = (*Node)(nil)

// UID implements host.Cluster.
func (n *Node) UID() view.UID { return n.member.UID }

// View implements host.Cluster.
func (n *Node) View() *view.View {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.view
}

// Offer implements host.Cluster: the next view lists the service.
func (n *Node) Offer(s view.Service) {
	n.mu.Lock()
	next := *n.view
	next.Epoch++
	n.offers = append(n.offers, s)
	if !next.Enlist(func(view.UID) []view.Service { return n.offers }) {
		n.mu.Unlock()
		return
	}
	n.view = &next
	n.mu.Unlock()
	n.later(func() { n.watchers.TellView(&next) })
}

// OnView implements host.Cluster.
func (n *Node) OnView(fn func(*view.View)) (cancel func()) {
	return n.watch(host.Watcher{View: fn, End: func(error) { fn(nil) }})
}

// OnReachable implements host.Cluster.
func (n *Node) OnReachable(fn func(view.UID, bool)) (cancel func()) {
	return n.watch(host.Watcher{Reachable: fn})
}

// watch registers a watcher. One that comes after the end hears of that alone.
func (n *Node) watch(w host.Watcher) (cancel func()) {
	cancel, ended := n.watchers.Add(w)
	if ended != nil && w.End != nil {
		n.s.Go(func() { w.End(ended) })
	}
	return cancel
}

// lease is the node's.
type lease struct{ n *Node }

var _ host.Lease = lease{}

// Holds implements host.Lease.
func (l lease) Holds() bool { return !l.n.lost.Load() && life(l).Ended() == nil }

// OnLease implements host.Lease.
func (l lease) OnLease(fn func(bool)) (cancel func()) { return l.n.watch(host.Watcher{Lease: fn}) }

// life is the node's beginning and end.
type life struct{ n *Node }

var _ host.Lifecycle = life{}

// OnShutdown implements host.Lifecycle. A Node ends as by a crash, so no task runs.
func (life) OnShutdown(shutdown.Phase, string, func(context.Context) error) (cancel func()) {
	return func() {}
}

// OnHealth implements host.Lifecycle. Nothing asks for the health of a Node.
func (life) OnHealth(func() []string) (cancel func()) { return func() {} }

// OnEnd implements host.Lifecycle.
func (l life) OnEnd(fn func(error)) (cancel func()) { return l.n.watch(host.Watcher{End: fn}) }

// Ended implements host.Lifecycle.
func (l life) Ended() error {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	return l.n.ended
}

// Broken implements host.Lifecycle.
func (l life) Broken(name string, b runloop.Broken, state fmt.Stringer) {
	l.n.broken(fmt.Sprintf("%s: %v\n%s\n%v", name, b.Value, b.Stack, state))
}
