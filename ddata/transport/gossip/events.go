package gossip

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/coterie-go/coterie/ddata/transport"
)

// delegate gives memberlist the node's meta and takes nothing.
type delegate struct{ meta []byte }

var _ memberlist.Delegate = (*delegate)(nil)

// NodeMeta is the node's meta.
func (d *delegate) NodeMeta(int) []byte { return d.meta }

// NotifyMsg takes user messages; no node sends any.
func (d *delegate) NotifyMsg([]byte) {}

// GetBroadcasts has nothing to spread.
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState adds nothing to a full sync.
func (d *delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState takes nothing from a full sync.
func (d *delegate) MergeRemoteState([]byte, bool) {}

// vetting turns away alive messages that are not of this cluster. memberlist calls it under its
// node lock, for the own node too.
type vetting Gossip

var _ memberlist.AliveDelegate = (*vetting)(nil)

// NotifyAlive returns an error for a node that must not be listed.
func (v *vetting) NotifyAlive(n *memberlist.Node) error {
	m, err := decodeMember(n.Meta)
	switch {
	case err != nil:
	case m.Cluster != v.self.Cluster:
		err = fmt.Errorf("cluster %q, not %q", m.Cluster, v.self.Cluster)
	case m.name() != n.Name:
		err = fmt.Errorf("meta of %s under the name %s", m.name(), n.Name)
	default:
		err = v.room(m.UID)
	}
	if err != nil {
		v.n.turnedAway.Add(1)
		return fmt.Errorf("gossip: %w", err)
	}
	return nil
}

// room returns nil if a node is listed or may still be listed. The bound keeps a sender of invented
// nodes from filling the memory.
func (v *vetting) room(id transport.NodeID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, listed := v.listed[id]; listed {
		return nil
	}
	if now := time.Now(); now.Sub(v.newcomersSince) >= newcomersIn {
		v.newcomers, v.newcomersSince = 0, now
	}
	if v.newcomers++; len(v.listed) >= listedMax || v.newcomers > listedMax {
		return fmt.Errorf("%d nodes are listed, %d are new", len(v.listed), v.newcomers)
	}
	return nil
}

// events turns memberlist's events into hints. memberlist calls it under its node lock: it copies
// what it needs and waits for nothing.
type events Gossip

var _ memberlist.EventDelegate = (*events)(nil)

// NotifyJoin hears of a node that appeared.
func (e *events) NotifyJoin(n *memberlist.Node) { e.note(n, true) }

// NotifyLeave hears of a node that vanished.
func (e *events) NotifyLeave(n *memberlist.Node) { e.note(n, false) }

// NotifyUpdate hears of a changed meta, which none of ours does.
func (e *events) NotifyUpdate(*memberlist.Node) {}

func (e *events) note(n *memberlist.Node, alive bool) {
	addr, id, ok := parseName(n.Name)
	if !ok {
		return
	}
	e.mu.Lock()
	if alive {
		e.listed[id] = listing{addr: addr, ip: net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))}
	} else {
		delete(e.listed, id)
	}
	e.mu.Unlock()
	if id != e.self.UID {
		e.events.put(Hint{Addr: addr, UID: id, Alive: alive})
	}
}

// hintQueue holds the hints that were not delivered yet, at most one per node.
type hintQueue struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	pending []Hint
}

func newHintQueue() *hintQueue { return &hintQueue{wake: make(chan struct{}, 1)} }

// put adds a hint in place of an older one about the same node.
func (q *hintQueue) put(h Hint) {
	q.mu.Lock()
	older := func(old Hint) bool { return old.UID == h.UID }
	q.pending = append(slices.DeleteFunc(q.pending, older), h)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *hintQueue) take() []Hint {
	q.mu.Lock()
	defer q.mu.Unlock()
	hints := q.pending
	q.pending = nil
	return hints
}

// deliver hands hints to f until ctx ends.
func (q *hintQueue) deliver(ctx context.Context, f func(Hint)) {
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		for _, h := range q.take() {
			if ctx.Err() != nil {
				return
			}
			f(h)
		}
	}
}

// others reports whether any node except this one is listed, and where the listed ones are, as
// memberlist and as they say.
func (g *Gossip) others() (some bool, addrs map[string]bool, ids map[transport.NodeID]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	addrs, ids = map[string]bool{}, map[transport.NodeID]bool{}
	for id, l := range g.listed {
		addrs[l.addr], addrs[l.ip], ids[id] = true, true, true
		some = some || id != g.self.UID
	}
	return some, addrs, ids
}
