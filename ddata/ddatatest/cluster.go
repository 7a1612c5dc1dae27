package ddatatest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// Cluster is real nodes in one process, over a network in memory that the test can cut. Nodes are
// numbered from 0, in the order in which they were started. Its methods are the test's, one call at a
// time.
type Cluster struct {
	t        TB
	inBubble bool
	hub      *memory.Hub
	edit     func(i int, c *ddata.Config)
	members  []*member
	cut      map[pair]bool
}

// pair is two nodes, the lower number first.
type pair struct{ a, b int }

func pairOf(a, b int) pair { return pair{min(a, b), max(a, b)} }

// member is one node of a Cluster.
type member struct {
	addr string
	dir  string      // empty: it has none, or was not started yet
	node *ddata.Node // the latest incarnation
	gate *gate
	runs bool // it was started, and neither killed nor asked to leave
}

// ended reports whether the latest incarnation has ended, as one does that the others have removed.
func (m *member) ended() bool {
	select {
	case <-m.node.Done():
		return true
	default:
		return false
	}
}

// fastHeartbeat is the interval of heartbeats outside of a bubble: a founding takes two or three.
const fastHeartbeat = 20 * time.Millisecond

// NewCluster founds a cluster of n nodes with the timers of ddata.Local, and returns when they are members
// of one view, with their data. They are closed when the test ends. edit, unless it is nil, may change the
// configuration of each node, each time that it is started, also of one that comes later; it must leave
// Bind, Seeds and Network as they are. A node has the role ddata.DefaultRole unless edit gives it others.
// The Dir that edit gives a node at first is that of its later starts, too. Without a Dir it keeps
// nothing durable, and the type of an entity may have reminders and remember its entities all the same.
func NewCluster(t TB, n int, edit func(i int, c *ddata.Config)) *Cluster {
	t.Helper()
	if n < 1 {
		t.Fatalf("ddatatest: a cluster of %d nodes: at least one founds it", n)
	}
	c := &Cluster{t: t, inBubble: bubble.Inside(), hub: memory.NewHub(), edit: edit, cut: map[pair]bool{}}
	for i := range n {
		c.members = append(c.members, &member{addr: memory.Addr(i + 1), gate: &gate{}})
	}
	err := c.start(upTo(n))
	t.Cleanup(c.close) // before the directories are removed that edit has asked for
	if err != nil {
		t.Fatalf("ddatatest: %v", err)
	}
	return c
}

// config is that of a node, each time that it is started.
func (c *Cluster) config(i int) ddata.Config {
	cfg := ddata.Config{
		Name: "test", Bind: c.members[i].addr, BootstrapExpect: len(c.members), Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler), Network: c.hub.At(c.members[i].addr),
	}
	for _, m := range c.members {
		cfg.Seeds = append(cfg.Seeds, m.addr)
	}
	if !c.inBubble {
		cfg.Timing.HeartbeatInterval = fastHeartbeat
	}
	if c.edit != nil {
		c.edit(i, &cfg)
	}
	m := c.members[i]
	m.dir = cmp.Or(m.dir, cfg.Dir)
	cfg.Dir = m.dir
	if cfg.Dir == "" && cfg.DurableKeys == nil {
		cfg.DurableKeys = []string{} // remembered entities and reminders last as long as a node does
	}
	return cfg
}

func (m *member) run(n *ddata.Node) { m.node, m.gate, m.runs = n, &gate{}, true }

// close ends all nodes.
func (c *Cluster) close() {
	var wg sync.WaitGroup
	for _, m := range c.members {
		if m.runs {
			m.gate.set(true)
			wg.Go(func() { _ = m.node.Close() })
		}
	}
	wg.Wait()
}

// member is a node of the cluster. The test fails if there is none of this number.
func (c *Cluster) member(i int) *member {
	c.t.Helper()
	if i < 0 || i >= len(c.members) {
		c.t.Fatalf("ddatatest: there is no node %d: %d were started, and their numbers begin at 0", i, len(c.members))
	}
	return c.members[i]
}

// pair is two nodes of the cluster.
func (c *Cluster) pair(a, b int) pair {
	c.t.Helper()
	c.member(a)
	c.member(b)
	return pairOf(a, b)
}

// Node is the latest incarnation of a node.
func (c *Cluster) Node(i int) *ddata.Node {
	c.t.Helper()
	return c.member(i).node
}

// Nodes are the latest incarnations of all nodes, in the order of their numbers.
func (c *Cluster) Nodes() (all []*ddata.Node) {
	for _, m := range c.members {
		all = append(all, m.node)
	}
	return all
}

// Len is how many nodes were started.
func (c *Cluster) Len() int { return len(c.members) }

// Running are the numbers of the nodes that were neither killed nor have left, nor have ended, as one does that
// the others have removed.
func (c *Cluster) Running() (all []int) {
	for i, m := range c.members {
		if m.runs && !m.ended() {
			all = append(all, i)
		}
	}
	return all
}

// Host is what a node lends to extensions, such as package sharding. What is started on it stands still
// while the node is paused.
func (c *Cluster) Host(i int) host.Host {
	c.t.Helper()
	m := c.member(i)
	h := m.node.Host()
	h.Scheduler, h.Lease = gated{gate: m.gate}, gatedLease{h.Lease, m.gate}
	return h
}

// Replicator is a node's replica of a role's data.
func (c *Cluster) Replicator(i int, role string) *ddata.Replicator {
	c.t.Helper()
	r, err := c.member(i).node.Replicator(role)
	if err != nil {
		c.t.Fatalf("ddatatest: node %d: %v", i, err)
	}
	return r
}

// Join starts one more node, and returns its number when it is Up.
func (c *Cluster) Join() (i int) {
	c.t.Helper()
	i = len(c.members)
	c.members = append(c.members, &member{addr: memory.Addr(i + 1), gate: &gate{}})
	c.Restart(i)
	return i
}

// Restart starts nodes again that were killed, have left or have ended, at the same addresses, and returns when
// they are Up. They are other members. Those with a Dir have their durable data. When all nodes of a cluster were
// killed, a majority of them has to come back at one time: name them in one call.
func (c *Cluster) Restart(nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		if m := c.member(i); m.runs && !m.ended() {
			c.t.Fatalf("ddatatest: node %d runs", i)
		}
	}
	if err := c.start(nodes); err != nil {
		c.t.Fatalf("ddatatest: %v", err)
	}
}

// start starts nodes side by side.
func (c *Cluster) start(numbers []int) error {
	configs := make([]ddata.Config, len(numbers))
	for at, i := range numbers {
		c.wire(i)
		configs[at] = c.config(i)
	}
	nodes, err := startAll(numbers, configs)
	for at, n := range nodes {
		if n != nil {
			c.members[numbers[at]].run(n)
		}
	}
	return err
}

// Kill ends a node as kill -9 does: its connections are reset, and nothing that it does reaches the
// others. In the one process its handlers are cancelled, and have a second to return.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	m := c.member(i)
	if !m.runs {
		c.t.Fatalf("ddatatest: node %d was killed before, or has left", i)
	}
	c.hub.Kill(m.addr)
	m.runs = false
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = m.node.Close()
	}()
	Eventually(c.t, fmt.Sprintf("node %d has no lease", i), func() error {
		if m.node.HoldsLease() {
			return fmt.Errorf("it has one")
		}
		return nil
	})
	m.gate.set(true) // nothing of it may act any more
	<-over
}

// Leave has a node leave in order.
func (c *Cluster) Leave(i int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	m := c.member(i)
	m.runs = false
	if err := m.node.Leave(ctx); err != nil {
		c.t.Errorf("ddatatest: node %d: %v", i, err)
	}
}

// Cut stops everything between two nodes until it is healed. What is sent meanwhile arrives then, unless
// the sender has given up.
func (c *Cluster) Cut(a, b int) {
	c.t.Helper()
	both := c.pair(a, b)
	if a == b {
		c.t.Fatalf("ddatatest: node %d cannot be cut off from itself", a)
	}
	c.cut[both] = true
	c.wire(a)
}

// Heal ends a cut.
func (c *Cluster) Heal(a, b int) {
	c.t.Helper()
	delete(c.cut, c.pair(a, b))
	c.wire(a)
}

// Isolate cuts a node off from all others.
func (c *Cluster) Isolate(i int) {
	for o := range c.members {
		if o != i {
			c.Cut(i, o)
		}
	}
}

// HealAll ends all cuts. A node that is paused stays so.
func (c *Cluster) HealAll() {
	clear(c.cut)
	for i := range c.members {
		c.wire(i)
	}
}

// Delay has everything that two nodes send to each other from now on arrive d later.
func (c *Cluster) Delay(a, b int, d time.Duration) {
	c.t.Helper()
	c.hub.Delay(c.member(a).addr, c.member(b).addr, d)
	c.hub.Delay(c.member(b).addr, c.member(a).addr, d)
}

// Pause stops a node, as SIGSTOP does, as far as one process can: nothing that it sends or is sent gets
// through. On its Host no function begins, no timer fires, nothing that waits goes on, and what looks at
// the lease, as each handler and each of its effects does, waits. A handler that runs goes on until then,
// and the node's own timers run.
func (c *Cluster) Pause(i int) {
	c.t.Helper()
	c.member(i).gate.set(false)
	c.wire(i)
}

// Resume has a paused node go on: what was kept back arrives.
func (c *Cluster) Resume(i int) {
	c.t.Helper()
	c.member(i).gate.set(true)
	c.wire(i)
}

// wire sets the wires of a node.
func (c *Cluster) wire(i int) {
	for o := range c.members {
		if o == i {
			continue
		}
		if a, b := c.members[i], c.members[o]; c.cut[pairOf(i, o)] || a.gate.isShut() || b.gate.isShut() {
			c.hub.CutBoth(a.addr, b.addr)
		} else {
			c.hub.HealBoth(a.addr, b.addr)
		}
	}
}

// AwaitMembers waits until the running nodes, or those that are named, have a view of n members each.
func (c *Cluster) AwaitMembers(n int, nodes ...int) {
	c.t.Helper()
	if len(nodes) == 0 {
		nodes = c.Running()
	}
	for _, i := range slices.Sorted(slices.Values(nodes)) {
		AwaitMembers(c.t, c.member(i).node, n)
	}
}
