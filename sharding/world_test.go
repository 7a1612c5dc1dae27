package sharding

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/memory"
)

// world is a cluster of fake nodes in one process: real machines, real transport over memory, a
// membership that the test decides, and replicated state that is one store for all, so that every
// write is at once everywhere.
type world struct {
	t      testing.TB
	hub    *memory.Hub
	store  *hosttest.Data
	nodes  []*fakeNode
	era    view.Era // of its founding
	epoch  view.Epoch
	lastUp uint32
	closes bool // the cluster shuts down
	lines  view.Lines
	format format.Level // of the views
}

// fakeNode is one node of the world. It has the ports that a region needs.
type fakeNode struct {
	w      *world
	member view.Member
	mesh   *transport.Mesh
	lost   atomic.Bool // the lease
	gone   bool

	mu     sync.Mutex
	offers []view.Service
	view   *view.View
	views  []func(*view.View)
	lease  []func(bool)
	links  []func(transport.LinkEvent)
	leave  []func(context.Context) error
	exit   []func(context.Context) error
}

func newWorld(t testing.TB) *world {
	return &world{t: t, hub: memory.NewHub(), store: hosttest.NewData(scheduler.Goroutines{})}
}

// join starts a node; it is in no view before install.
func (w *world) join(roles ...string) *fakeNode {
	w.t.Helper()
	w.lastUp++
	n := &fakeNode{w: w}
	addr := memory.Addr(int(w.lastUp))
	m, err := w.hub.Start(addr, transport.Config{
		Cluster: "test", Self: transport.NodeID(1000 + w.lastUp), OnEvent: n.linkChanged, DataStripes: 2,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	n.mesh = m
	n.member = view.Member{
		UID: view.UID(1000 + w.lastUp), Addr: addr, Roles: roles, Status: view.Up, UpNumber: w.lastUp,
	}
	w.nodes = append(w.nodes, n)
	w.t.Cleanup(func() { _ = m.Close() })
	return n
}

// install gives all nodes that are not gone the next view.
func (w *world) install() { w.installBut()() }

// installBut does so, except for some nodes, which get it when the result is called.
func (w *world) installBut(late ...*fakeNode) (catchUp func()) {
	w.epoch++
	v := &view.View{Era: w.era, Epoch: w.epoch, LastUp: w.lastUp, Closing: w.closes, Lines: w.lines, Format: w.format}
	offers := map[view.UID][]view.Service{}
	peers := map[transport.NodeID]string{}
	for _, n := range w.nodes {
		if !n.gone {
			v.Members = append(v.Members, n.member)
			peers[transport.NodeID(n.member.UID)] = n.member.Addr
			offers[n.member.UID] = n.offered()
		}
	}
	slices.SortFunc(v.Members, func(a, b view.Member) int { return int(a.UpNumber) - int(b.UpNumber) })
	v.Enlist(func(u view.UID) []view.Service { return offers[u] })
	w.lines = v.Lines
	give := func(n *fakeNode) {
		others := map[transport.NodeID]string{}
		for id, addr := range peers {
			if id != n.mesh.Self() {
				others[id] = addr
			}
		}
		n.mesh.SetPeers(others)
		n.mu.Lock()
		n.view = v
		fns := slices.Clone(n.views)
		n.mu.Unlock()
		for _, fn := range fns {
			fn(v)
		}
	}
	for _, n := range w.nodes {
		if !n.gone && !slices.Contains(late, n) {
			give(n)
		}
	}
	return func() {
		for _, n := range late {
			give(n)
		}
	}
}

// kill takes a node off the network and out of the next view; its lease is over.
func (w *world) kill(n *fakeNode) {
	n.holdLease(false)
	w.hub.Kill(n.member.Addr)
	n.gone = true
	w.install()
}

// forget drops what a closed region had registered; the fake's registrations have no end of their
// own.
func (n *fakeNode) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.views, n.lease, n.links, n.leave, n.exit = nil, nil, nil, nil, nil
}

func (n *fakeNode) holdLease(held bool) {
	n.lost.Store(!held)
	n.mu.Lock()
	fns := slices.Clone(n.lease)
	n.mu.Unlock()
	for _, fn := range fns {
		fn(held)
	}
}

// leaves hands over what runs on the node, as ddata.Node.Leave does, and takes it out of the view.
func (w *world) leaves(n *fakeNode, within time.Duration) error {
	if err := w.handsOver(n, within); err != nil {
		return err
	}
	n.gone = true
	w.install()
	return nil
}

// handsOver is the first half of leaves: the node stays a member, so what it still has to send or
// to be answered gets through.
func (w *world) handsOver(n *fakeNode, within time.Duration) error {
	n.member.Status = view.Leaving
	w.install()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, fn := range slices.Concat(n.leave, n.exit) {
		if err := fn(ctx); err != nil {
			return err
		}
	}
	_ = n.mesh.Flush(ctx) // as the node does, members that are silent or not
	return nil
}

func (n *fakeNode) ports() Ports {
	p := Ports{
		Cluster: n, Lease: n, Network: n, Log: slog.New(slog.DiscardHandler),
		BeforeLeave: func(fn func(context.Context) error) func() {
			n.leave = append(n.leave, fn)
			return func() {}
		},
		BeforeExit: func(fn func(context.Context) error) func() {
			n.exit = append(n.exit, fn)
			return func() {}
		},
	}
	if slices.Contains(n.member.Roles, "backend") {
		p.State, p.UserData = n.w.store, n.w.store
	}
	return p
}

// start starts a type on a node, to be closed with the test.
func start[M any](n *fakeNode, t EntityType[M]) *Region[M] {
	n.w.t.Helper()
	g, err := StartOn(n.ports(), t)
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			n.w.t.Error(err)
		}
	})
	return g
}

func register[F any](mu *sync.Mutex, list *[]F, fn F) (cancel func()) {
	mu.Lock()
	defer mu.Unlock()
	*list = append(*list, fn)
	return func() {}
}

func (n *fakeNode) UID() view.UID { return n.member.UID }
func (n *fakeNode) View() *view.View {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.view
}

// Offer takes effect at once if there is a view, which then has a successor.
func (n *fakeNode) Offer(s view.Service) {
	n.mu.Lock()
	known := slices.Contains(n.offers, s)
	if !known {
		n.offers = append(n.offers, s)
	}
	lists := n.view == nil || n.view.Lines.Settles(s, n.member.UID)
	n.mu.Unlock()
	if !lists {
		n.w.install()
	}
}

func (n *fakeNode) offered() []view.Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.offers)
}

func (n *fakeNode) OnView(fn func(*view.View)) (cancel func()) {
	return register(&n.mu, &n.views, fn)
}
func (n *fakeNode) OnReachable(func(view.UID, bool)) (cancel func()) {
	return func() {}
}
func (n *fakeNode) Holds() bool                                      { return !n.lost.Load() }
func (n *fakeNode) OnLease(fn func(bool)) (cancel func())            { return register(&n.mu, &n.lease, fn) }
func (n *fakeNode) Handle(ch transport.Channel, h transport.Handler) { n.mesh.Handle(ch, h) }
func (n *fakeNode) Append(to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	return n.mesh.Append(to, lane, stripe, ch, fill, check)
}
func (n *fakeNode) AppendWait(ctx context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	return n.mesh.AppendWait(ctx, to, lane, stripe, ch, fill, check)
}
func (n *fakeNode) Claim(transport.Channel) []byte           { return nil }
func (n *fakeNode) CountDrop(why transport.Drop, frames int) { n.mesh.CountDrop(why, frames) }
func (n *fakeNode) OnLink(fn func(transport.LinkEvent)) (cancel func()) {
	return register(&n.mu, &n.links, fn)
}

func (n *fakeNode) linkChanged(e transport.Event) {
	link, ok := e.(transport.LinkEvent)
	if !ok {
		return
	}
	n.mu.Lock()
	fns := slices.Clone(n.links)
	n.mu.Unlock()
	for _, fn := range fns {
		fn(link)
	}
}
