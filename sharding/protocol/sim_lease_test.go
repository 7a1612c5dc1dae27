package protocol_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// simStore is the store of leases outside of the cluster. Somebody outside takes some of them for a
// while.
type simStore struct {
	holders map[string]simHolder
	last    map[simDoor]time.Time // operations of one door are carried out in order
}

type simDoor struct {
	node protocol.UID
	name string
}

// simHolder names the holder of a lease: the shard or the coordinator of a node, or none of them.
type simHolder struct {
	node protocol.UID // 0: somebody outside
	by   any          // *simShard or *Coordinator
	lose func()
}

// simHold is what a driver knows of the coordinator's lease.
type simHold struct {
	gen         uint64 // of the acquisition
	waits, held bool
}

func (h *simHold) asked(ops []protocol.LeaseOp) {
	for _, op := range ops {
		*h = simHold{gen: op.Gen, waits: op.Acquire}
	}
}

func (h *simHold) hear(in protocol.CoordinatorInput) {
	switch in := in.(type) {
	case protocol.LeaseGranted:
		if in.Gen == h.gen && h.waits {
			h.waits, h.held = false, true
		}
	case protocol.LeaseRefused:
		h.waits = h.waits && in.Gen != h.gen
	case protocol.LeaseLost:
		if in.Gen == h.gen {
			h.waits, h.held = false, false
		}
	}
}

// leaseTime is how long the store's answers take at most.
const leaseTime = 10 * time.Millisecond

func newSimStore() simStore {
	return simStore{holders: map[string]simHolder{}, last: map[simDoor]time.Time{}}
}

func (w *world) holdsLease(name string, by any) bool { return w.store.holders[name].by == by }

// allowed reports whether the runtime lets an entity of the shard do anything.
func (n *simNode) allowed(s protocol.ShardID, sh *simShard) bool {
	return !n.w.opt.leases || n.w.opt.noGate || n.w.holdsLease(shardName(s), sh)
}

// leaseOps carries out what a machine wants of its lease; tell brings it the answers.
func (n *simNode) leaseOps(name string, by any, ops []protocol.LeaseOp, tell func(any)) {
	w := n.w
	for _, op := range ops {
		d := w.between(0, 20*time.Millisecond)
		if !w.healed && w.chance(10) {
			d = w.between(0, 600*time.Millisecond)
		}
		door := simDoor{n.uid, name}
		at := w.now.Add(d)
		if at.Before(w.store.last[door]) {
			at = w.store.last[door]
		}
		w.store.last[door] = at
		w.after(at.Sub(w.now), func() { n.leaseOp(name, by, op, tell) })
	}
}

func (n *simNode) leaseOp(name string, by any, op protocol.LeaseOp, tell func(any)) {
	w := n.w
	later := func(in any) { w.after(w.between(0, leaseTime), func() { tell(in) }) }
	h, taken := w.store.holders[name]
	switch {
	case !op.Acquire:
		if h.by == by {
			delete(w.store.holders, name)
		}
		if _, ok := by.(*simShard); ok && tell != nil {
			later(protocol.LeaseReleased{Gen: op.Gen})
		}
	case n.cut || !n.alive || !w.healed && w.chance(5):
		later(protocol.LeaseRefused{Gen: op.Gen, Text: "store cannot be reached"})
	case taken && h.by != by:
		later(protocol.LeaseRefused{Gen: op.Gen})
	default:
		w.store.holders[name] = simHolder{node: n.uid, by: by, lose: func() { later(protocol.LeaseLost{Gen: op.Gen}) }}
		if sh, ok := by.(*simShard); ok {
			sh.granted = w.now.Add(leaseTime)
		}
		later(protocol.LeaseGranted{Gen: op.Gen})
	}
}

// passesOn looks at a shard that is stopped before it has started: what waits goes to its next home
// as it is, and may come there after what is told later. That is for a shard that waits for its
// lease, or has got it so late that its region does not know yet.
func (n *simNode) passesOn(s protocol.ShardID, sh *simShard) {
	others := slices.ContainsFunc(n.buffers[s], func(m simMsg) bool { return m.from != n.uid })
	if phaseOf(sh.m) == "drained" || !others {
		return
	}
	n.w.unordered[s] = true
	if phaseOf(sh.m) != "leasing" && n.w.now.Sub(sh.granted) > 2*postTime {
		n.w.fail("%v: shard %v has had its lease for %v and passes on %d messages without having started",
			n.uid, s, n.w.now.Sub(sh.granted), len(n.buffers[s]))
	}
}

// occupy has somebody outside take a lease for a while, or the store take it away.
func (w *world) occupy(name string) {
	h := w.store.holders[name]
	w.verbose("occupy %s of %v", name, h.node)
	w.store.holders[name] = simHolder{}
	if h.lose != nil {
		h.lose()
	}
	if sh, ok := h.by.(*simShard); ok && !w.opt.noGate {
		for _, id := range slices.Sorted(maps.Keys(sh.entities)) {
			w.nodes[h.node].ended(id, sh.entities[id])
		}
	}
	if sh, ok := h.by.(*simShard); ok {
		w.unordered[sh.id] = true
	}
	w.after(w.between(0, 1500*time.Millisecond), func() {
		if w.store.holders[name].by == nil {
			delete(w.store.holders, name)
		}
	})
}

func (w *world) occupySome() {
	if !w.opt.leases {
		return
	}
	switch {
	case w.chance(1):
		w.occupy(coordinatorName)
	case w.chance(4):
		w.occupy(shardName(protocol.ShardID(w.rng.IntN(w.opt.shards))))
	}
}

// retire gives back the lease of a shard that was killed, when none of its handlers runs and none
// of its writes is under way.
func (n *simNode) retire(s protocol.ShardID, sh *simShard) {
	if !n.w.opt.leases {
		return
	}
	busy := sh.writing > 0
	for _, e := range sh.entities { // order: only asked whether there is any
		busy = busy || e.busy
	}
	if busy {
		n.w.after(5*time.Millisecond, func() { n.retire(s, sh) })
		return
	}
	n.leaseOps(shardName(s), sh, []protocol.LeaseOp{{}}, nil)
}

// bequeath is the end of a process: what it held becomes free, after a while. A node that has left
// in order must have nothing left to give back.
func (w *world) bequeath(n *simNode, why string) {
	if !w.opt.leases {
		return
	}
	w.after(w.between(700*time.Millisecond, time.Second), func() {
		for _, name := range slices.Sorted(maps.Keys(w.store.holders)) {
			if h := w.store.holders[name]; h.node == n.uid {
				if why == "left" {
					w.fail("%v has left and still holds the lease of %s", n.uid, name)
				}
				delete(w.store.holders, name)
			}
		}
	})
}

func leaseSim() simOptions {
	return simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24, leases: true}
}

func TestSimLeases(t *testing.T) {
	t.Parallel()
	simulate(t, leaseSim())
}

func TestSimLeasesRemember(t *testing.T) {
	t.Parallel()
	opt := leaseSim()
	opt.lossy, opt.remember, opt.passivate = true, true, 20
	simulate(t, opt)
}

func TestSimLeasesCrashes(t *testing.T) {
	t.Parallel()
	opt := leaseSim()
	opt.nodes, opt.lossy, opt.crashes = 5, true, true
	simulate(t, opt)
}

// A shard that goes on after its lease was lost is found: by the checker, if nothing else holds its
// entities back, and because its messages are never handled, if something does.
func TestSimFindsKeptLostLease(t *testing.T) {
	t.Parallel()
	opt := leaseSim()
	opt.defects = defect.Of(defect.KeepLostLease)
	caught(t, opt)
	opt.noGate = true
	caught(t, opt)
}
