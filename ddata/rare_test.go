package ddata_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A cut parts two nodes, and no node is removed. Each is unreachable for the other, writers wait
// for it at first, and it is heard again.
func TestACutIsSeen(t *testing.T) {
	wires := faulty.New(1)
	t.Cleanup(wires.Close) // after the nodes
	addrs := freeAddrs(t, 2)
	var configs []ddata.Config
	var seen []*watched
	for _, a := range addrs {
		c := config(a, addrs, 2)
		c.Network, c.Downing = wires.At(a, transport.TCP()), downing.Manual{}
		// a member silent for RetryInterval holds up no writer
		c.Replication.BacklogMax, c.Replication.RetryInterval = 4096, limit
		seen = append(seen, watch(&c))
		configs = append(configs, c)
	}
	nodes := startAll(t, configs...)
	wires.CutBoth(addrs[0], addrs[1])
	ctx, cancel := context.WithCancel(testContext(t))
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_ = ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteLocal,
				add(fmt.Sprint(i, strings.Repeat("x", 1000))))
		}
	})
	defer writer.Wait()
	defer cancel()
	has(t, seen[0], func(e events.WritersHeld) bool {
		return e.Role == "backend" && e.Space == keyspace.Volatile && e.Peer == nodes[1].UID() && e.Held == 1
	})
	has(t, seen[0], func(e events.MemberUnreachable) bool { return e.Member.UID == nodes[1].UID() })
	has(t, seen[1], func(e events.MemberUnreachable) bool { return e.Member.UID == nodes[0].UID() })
	cancel()
	wires.HealAll()
	has(t, seen[0], func(e events.MemberReachable) bool { return e.Member.UID == nodes[1].UID() })
	has(t, seen[1], func(e events.MemberReachable) bool { return e.Member.UID == nodes[0].UID() })
}

// Of three nodes the two younger crash at once, and the oldest is to go on: what only they held is
// lost, and that is said.
func TestALostMajorityIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		var configs []ddata.Config
		seen := map[string]*watched{}
		for _, a := range addrs {
			c := mem.config(a, addrs, 3)
			c.Downing = downing.KeepOldest{}
			seen[a] = watch(&c)
			configs = append(configs, c)
		}
		nodes := startAll(t, configs...)
		oldest, _ := nodes[0].View().Oldest("")
		for _, n := range nodes {
			if n.UID() != oldest.UID {
				mustClose(t, n)
			}
		}
		has(t, seen[oldest.Addr], func(e events.MajorityLost) bool {
			return e.Role == "backend" && e.Settled.Lost && e.Settled.Epoch > 1
		})
	})
}

// What damage alone can bring about, a node brings about on purpose: a view beside the chain, and
// another value under a dot of its own.
func TestDamageIsSeen(t *testing.T) {
	addrs := freeAddrs(t, 2)
	var configs []ddata.Config
	var seen []*watched
	for _, a := range addrs {
		c := config(a, addrs, 2)
		c.Replication.GossipInterval = 50 * time.Millisecond
		seen = append(seen, watch(&c))
		configs = append(configs, c)
	}
	nodes := startAll(t, configs...)
	say := func(channel string, payload []byte) {
		t.Helper()
		err := send(nodes[1], nodes[0], channel, payload)
		if err != nil {
			t.Fatal(err)
		}
	}
	v := nodes[0].View()
	forged := *v
	forged.Parent = v.Hash()
	say("membership", message.Append(nil, message.Commit{View: &forged}))
	has(t, seen[0], func(e events.Forked) bool { return e.Own == v.String() && e.Other == forged.String() })

	dot := crdt.Dot{Origin: crdt.Origin(nodes[1].UID()), Seq: 1}
	say("replicator/backend", wire.Append(nil, &wire.Push{
		Epoch: uint64(v.Epoch), Groups: []crdt.Group{
			{{Dot: dot, Key: names.Name(), Path: "?", Puts: true, Payload: "?"}},
		},
	}))
	if err := ddata.Update(testContext(t), replica(t, nodes[1]), names, ddata.WriteLocal, add("true")); err != nil {
		t.Fatal(err)
	}
	is := func(w *watched) bool {
		return slices.ContainsFunc(w.events(), func(e events.Event) bool {
			d, ok := e.(events.Diverged)
			return ok && d.Role == "backend" && d.Key == names.Name() && d.Dot == dot && d.Dots == 1
		})
	}
	for late := time.After(limit); !is(seen[0]) && !is(seen[1]); { // the node that looks first finds it
		select {
		case <-seen[0].news:
		case <-seen[1].news:
		case <-late:
			t.Fatalf("no event tells of it: %v", seen[0].events())
		}
	}
}

// Two nodes that were each told to found a cluster alone have founded two of one name. The gossip
// of the first looks for its seeds, and so both hear of the other, and say so.
func TestASecondClusterIsSeen(t *testing.T) {
	addrs := freeAddrs(t, 2)
	alone := config(addrs[0], addrs, 1)
	seen := []*watched{watch(&alone)}
	nodes := startAll(t, alone)
	other := config(addrs[1], nil, 1)
	seen = append(seen, watch(&other))
	nodes = append(nodes, startAll(t, other)...)
	for i, n := range nodes {
		v := nodes[1-i].View()
		has(t, seen[i], func(e events.SecondCluster) bool {
			return e.Cluster == v.Cluster && e.UID == nodes[1-i].UID()
		})
		if now := n.View(); len(now.Members) != 1 || now.Cluster == v.Cluster {
			t.Errorf("%v and %v have merged", now, v)
		}
	}
}

// observed keeps the observations of a histogram.
type observations struct {
	mu  sync.Mutex
	all []float64
}

// Observe implements events.Observer.
func (o *observations) Observe(_ context.Context, v float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, v)
}

// notedMeter is a Meter that keeps what is observed, by metric and labels.
type notedMeter struct {
	mu sync.Mutex
	of map[string]*observations
}

// Read implements events.Meter.
func (*notedMeter) Read(func(func(*events.Metric, float64, ...string))) func() { return func() {} }

// Histogram implements events.Meter.
func (m *notedMeter) Histogram(metric *events.Metric, labels ...string) events.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := fmt.Sprint(metric.Name, labels)
	if m.of[name] == nil {
		m.of[name] = &observations{}
	}
	return m.of[name]
}

// A node that joins and cannot be served from the log repairs itself: the beginning, the end with
// what was fetched, and the time in the histogram.
func TestARepairIsSeen(t *testing.T) {
	addrs := freeAddrs(t, 2)
	c := config(addrs[0], nil, 1)
	c.Replication.LogMax = 10
	first := startAll(t, c)[0]
	for i := range 100 {
		if err := ddata.Update(testContext(t), replica(t, first), names, ddata.WriteLocal,
			add(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	c = config(addrs[1], addrs[:1], 0)
	c.Replication.LogMax = 10
	meter := &notedMeter{of: map[string]*observations{}}
	c.Meter = meter
	w := watch(&c)
	startAll(t, c)
	has(t, w, func(e events.RepairBegan) bool {
		return e.Role == "backend" && e.Space == keyspace.Volatile && e.Peer == first.UID()
	})
	var took []float64
	has(t, w, func(e events.RepairEnded) bool {
		took = append(took, e.Took.Seconds())
		return e.Role == "backend" && e.State == effect.RepairDone && e.Peer == first.UID() &&
			e.Items == 100 && e.Took > 0
	})
	o := meter.of["coterie_repair_duration_seconds[backend user]"]
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 || !slices.Contains(o.all, took[len(took)-1]) {
		t.Errorf("observed %v, the event says %v s", o.all, took)
	}
}
