package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// virtualWorld is a cluster whose regions run in virtual time, on one flow of control. What happens
// is written into its trace.
type virtualWorld struct {
	*routine.World
	begin time.Time
	trace strings.Builder
	nodes []*virtualNode
	store *crdt.Replica
	subs  []virtualSub
	epoch view.Epoch
	lines view.Lines
}

// virtualSub is told of what changes in the store.
type virtualSub struct {
	p      *routine.Process
	prefix string
	fn     func(string, crdt.Reader)
}

// virtualNode is one node of the world. It has the ports that a region needs.
type virtualNode struct {
	w        *virtualWorld
	p        *routine.Process
	member   view.Member
	view     *view.View
	views    []func(*view.View)
	offers   []view.Service
	handlers map[transport.Channel]transport.Handler
	last     map[transport.Lane]time.Time // when the latest frame of a lane arrives here
	region   *Region[message_]
}

func newVirtualWorld(seed uint64) *virtualWorld {
	w := &virtualWorld{World: routine.NewWorld(seed), store: crdt.NewReplica(1, crdt.StoreOptions{})}
	w.begin = w.Now()
	return w
}

func (w *virtualWorld) note(format string, args ...any) {
	fmt.Fprintf(&w.trace, "%v "+format+"\n", append([]any{w.Now().Sub(w.begin)}, args...)...)
}

// join adds a node with a region; it is in no view before install.
func (w *virtualWorld) join(t *testing.T, typ EntityType[message_]) *virtualNode {
	number := len(w.nodes) + 1
	n := &virtualNode{
		w: w, p: w.NewProcess(), handlers: map[transport.Channel]transport.Handler{},
		last: map[transport.Lane]time.Time{},
		member: view.Member{
			UID: view.UID(1000 + number), Addr: fmt.Sprintf("n%d", number), Roles: []string{"backend"}, Status: view.Up,
			UpNumber: uint32(number),
		},
	}
	w.nodes = append(w.nodes, n)
	typ.New = func(*Context[message_]) Entity[message_] { return &virtualCart{node: n} }
	typ.OnEvent = func(e events.Event) {
		switch e := e.(type) {
		case Event:
			w.note("%s event %v", n.member.Addr, e.What.Kind)
		case Drop:
			w.note("%s drops %v", n.member.Addr, e)
		}
	}
	n.p.Enter(func() {
		var err error
		if n.region, err = StartOn(Ports{
			Cluster: n, Lease: n, Network: n, State: n, Scheduler: n.p, Log: slog.New(slog.DiscardHandler),
		}, typ); err != nil {
			t.Error(err)
		}
	})
	return n
}

// install gives all nodes the next view.
func (w *virtualWorld) install() {
	w.epoch++
	v := &view.View{Epoch: w.epoch, LastUp: uint32(len(w.nodes)), Lines: w.lines}
	offers := map[view.UID][]view.Service{}
	for _, n := range w.nodes {
		v.Members = append(v.Members, n.member)
		offers[n.member.UID] = n.offers
	}
	v.Enlist(func(u view.UID) []view.Service { return offers[u] })
	w.lines = v.Lines
	for _, n := range w.nodes {
		n.view = v
		for _, fn := range n.views {
			n.p.Enter(func() { fn(v) })
		}
	}
}

// UID implements host.Cluster.
func (n *virtualNode) UID() view.UID { return n.member.UID }

// View implements host.Cluster.
func (n *virtualNode) View() *view.View { return n.view }

// Offer implements host.Cluster. It takes effect with the next view.
func (n *virtualNode) Offer(s view.Service) { n.offers = append(n.offers, s) }

// OnView implements host.Cluster.
func (n *virtualNode) OnView(fn func(*view.View)) (cancel func()) {
	n.views = append(n.views, fn)
	return func() {}
}

// OnReachable implements host.Cluster.
func (n *virtualNode) OnReachable(func(view.UID, bool)) (cancel func()) { return func() {} }

// Holds implements host.Lease.
func (n *virtualNode) Holds() bool { return true }

// OnLease implements host.Lease.
func (n *virtualNode) OnLease(func(bool)) (cancel func()) { return func() {} }

// Claim implements host.Channels.
func (n *virtualNode) Claim(transport.Channel) []byte { return nil }

// CountDrop implements host.Channels.
func (n *virtualNode) CountDrop(transport.Drop, int) {}

// OnLink implements host.Channels.
func (n *virtualNode) OnLink(func(transport.LinkEvent)) (cancel func()) { return func() {} }

// Handle implements host.Channels.
func (n *virtualNode) Handle(ch transport.Channel, h transport.Handler) { n.handlers[ch] = h }

// Append implements host.Channels. A frame is under way for a while; those of a lane stay in order.
func (n *virtualNode) Append(to transport.NodeID, lane transport.Lane, _ uint32, ch transport.Channel,
	fill func([]byte) []byte, check func() error) error {
	i := slices.IndexFunc(n.w.nodes, func(o *virtualNode) bool { return transport.NodeID(o.member.UID) == to })
	if i < 0 {
		return transport.ErrNoPeer
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	peer, frame := n.w.nodes[i], fill(nil)
	at := n.w.Now().Add(time.Millisecond + time.Duration(n.w.Uint64()%uint64(4*time.Millisecond)))
	if before := peer.last[lane]; !at.After(before) {
		at = before.Add(1)
	}
	peer.last[lane] = at
	n.w.At(at, func() {
		if h := peer.handlers[ch]; h != nil {
			peer.p.Enter(func() { h.Receive(transport.NodeID(n.member.UID), frame) })
		}
	})
	return nil
}

// AppendWait implements host.Channels.
func (n *virtualNode) AppendWait(_ context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	return n.Append(to, lane, stripe, ch, fill, check)
}

// later has something called by the node after the time that a replica takes.
func (n *virtualNode) later(fn func()) {
	n.w.At(n.w.Now().Add(3*time.Millisecond), func() { n.p.Enter(fn) })
}

// Update implements host.Data.
func (n *virtualNode) Update(key string, _ quorum.Level, _ time.Duration, mutate func(*crdt.Tx) error,
	done func(error)) {
	n.later(func() {
		var ch crdt.Changes
		_, err := n.w.store.Update(key, n.w.Now().UnixNano(), mutate, &ch)
		v := n.w.store.Store().View(key)
		for _, s := range n.w.subs {
			if err == nil && strings.HasPrefix(key, s.prefix) {
				n.w.At(n.w.Now().Add(time.Millisecond), func() { s.p.Enter(func() { s.fn(key, v) }) })
			}
		}
		done(err)
	})
}

// Get implements host.Data.
func (n *virtualNode) Get(key string, _ quorum.Level, _ time.Duration, done func(crdt.Reader, error)) {
	n.later(func() { done(n.w.store.Store().View(key), nil) })
}

// Watch implements host.Data.
func (n *virtualNode) Watch(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	n.w.subs = append(n.w.subs, virtualSub{n.p, prefix, fn})
	for key := range n.w.store.Store().Snapshot().Keys(prefix) {
		fn(key, n.w.store.Store().View(key))
	}
	return func() {}
}

// sleep lets virtual time pass in a routine of the node.
func (n *virtualNode) sleep(d time.Duration) {
	over := make(chan struct{})
	n.p.AfterFunc(d, func() { close(over) })
	n.p.Await(over, nil, nil)
}

// virtualCart is an entity whose handlers take time. For each thing that is added it asks another
// entity.
type virtualCart struct {
	node *virtualNode
	n    int
}

func (k *virtualCart) Receive(c *Context[message_], msg message_) error {
	k.node.w.note("%s %s begins %T", k.node.member.Addr, c.ID(), msg)
	k.node.sleep(time.Duration(k.node.p.Uint64() % uint64(20*time.Millisecond)))
	var err error
	switch m := msg.(type) {
	case addItem:
		k.n += m.N
		text, failed := Ask(c, c.Region().Ref("echo/"+c.ID()), echo{Text: m.Name})
		if text != m.Name {
			k.node.w.note("%s %s got %q: %v", k.node.member.Addr, c.ID(), text, failed)
		}
	case total:
		err = c.Reply(k.n)
	case echo:
		err = c.Reply(m.Text)
	}
	k.node.w.note("%s %s ends", k.node.member.Addr, c.ID())
	return err
}

// playVirtual has three regions, of which one comes later and gets shards of the others, tell and
// ask entities. It returns what happened, and how many of so many questions were answered.
func playVirtual(t *testing.T, seed uint64) (trace string, answered, asked int) {
	t.Helper()
	w := newVirtualWorld(seed)
	defer w.End()
	typ := cartType(&cartLog{})
	typ.Limits.Workers, typ.Limits.WorkersMax = 2, 16
	typ.Rebalance.Interval, typ.Coordination.RetryInterval = 200*time.Millisecond, 200*time.Millisecond
	typ.Timeouts.HandlerSlow = -1 // it looks at the stacks of the real process
	w.join(t, typ)
	w.join(t, typ)
	w.install()
	load := func(n *virtualNode, round int) {
		for i := range 100 {
			n.p.Go(func() {
				ctx, cancel := n.p.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				n.sleep(time.Duration(n.p.Uint64() % uint64(time.Second)))
				id := fmt.Sprintf("cart-%d", i)
				if err := n.region.Tell(ctx, id, addItem{Name: id, N: 1}); err != nil {
					w.note("%s tell %s: %v", n.member.Addr, id, err)
				}
				asked++
				sum, err := Ask(ctx, n.region.Ref(id), total{})
				w.note("%s round %d: %s has %d: %v", n.member.Addr, round, id, sum, err)
				if err == nil {
					answered++
				}
			})
		}
	}
	for _, n := range w.nodes {
		load(n, 1)
	}
	w.Run(500 * time.Millisecond)
	w.join(t, typ)
	w.install()
	w.Run(5 * time.Second)
	for _, n := range w.nodes {
		load(n, 2)
	}
	w.Run(30 * time.Second)
	for _, n := range w.nodes {
		w.note("%s hosts %d shards", n.member.Addr, len(n.region.plane.Routes.Shards()))
	}
	return w.trace.String(), answered, asked
}

func TestRegionsRunInVirtualTime(t *testing.T) {
	first, answered, asked := playVirtual(t, 1)
	if asked != 500 || answered != asked {
		t.Errorf("%d of %d questions were answered", answered, asked)
	}
	if strings.Contains(first, "n3 hosts 0 shards") {
		t.Error("no shard has moved to the node that came later")
	}
	again, _, _ := playVirtual(t, 1)
	if again != first {
		a, b := strings.Split(first, "\n"), strings.Split(again, "\n")
		for i := range a {
			if i >= len(b) || a[i] != b[i] {
				t.Fatalf("two runs of one seed differ in line %d of %d and %d:\n%s\n%s", i, len(a), len(b), a[i],
					b[min(i, len(b)-1)])
			}
		}
		t.Fatal("the second run of a seed is longer")
	}
	if other, _, _ := playVirtual(t, 2); other == first {
		t.Error("another seed changes nothing")
	}
}

// Concurrent calls of Close each wait for their own context, and no lock is held meanwhile: what the
// first call waits for must be able to run.
func TestConcurrentCloseWaitsByTheScheduler(t *testing.T) {
	w := newVirtualWorld(1)
	defer w.End()
	typ := cartType(&cartLog{})
	typ.Timeouts.HandlerSlow = -1
	n := w.join(t, typ)
	w.install()
	n.p.Go(func() {
		for i := range 50 { // some of their handlers run for a while
			if err := n.region.Tell(context.Background(), fmt.Sprint("cart-", i),
				addItem{Name: "x", N: 1}); err != nil {
				t.Error(err)
			}
		}
	})
	w.Run(time.Second)
	running := func() int {
		return strings.Count(w.trace.String(), " begins ") - strings.Count(w.trace.String(), " ends\n")
	}
	n.p.Go(func() {
		for i := range 50 {
			_ = n.region.Tell(context.Background(), fmt.Sprint("cart-", i), total{})
		}
	})
	for range 100 {
		if w.Run(100 * time.Microsecond); running() > 0 {
			break
		}
	}
	if running() == 0 {
		t.Fatal("no handler runs")
	}
	type end struct {
		at  time.Duration
		err error
	}
	ends := map[string]end{}
	for _, c := range []struct {
		name string
		most time.Duration
	}{{"first", time.Minute}, {"second", time.Minute}, {"hasty", time.Microsecond}} {
		n.p.Go(func() {
			ctx, cancel := n.p.WithTimeout(context.Background(), c.most)
			defer cancel()
			err := n.region.Close(ctx)
			ends[c.name] = end{w.Now().Sub(w.begin), err}
		})
		w.Run(200 * time.Microsecond)
	}
	w.Run(time.Minute)
	first, second := ends["first"], ends["second"]
	if first.err != nil || second.err != nil || min(first.at, second.at) == 0 {
		t.Errorf("%+v", ends)
	}
	if e, is := ends["hasty"]; !is || !errors.Is(e.err, context.DeadlineExceeded) || e.at >= min(first.at, second.at) {
		t.Errorf("%+v", ends)
	}
}
