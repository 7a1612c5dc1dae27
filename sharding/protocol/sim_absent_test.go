package protocol_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// simAbsence is what a node keeps of the type beyond one region and one coordinator.
type simAbsence struct {
	who     protocol.NotStarted // while the type was never started there
	closing bool                // the region ends, or has ended, while its node stays; its machines go on
}

// closed reports whether the region was closed and has stopped everything.
func (n *simNode) closed() bool { return n.absence.closing && n.left }

// serves reports whether the node's users may use the type.
func (n *simNode) serves() bool { return n.region != nil && !n.absence.closing }

// startOrClose changes whether the type runs on the node.
func (n *simNode) startOrClose() {
	m := n.w.member(n.uid)
	switch {
	case n.cut || n.leaving || m == nil || m.Status != view.Up:
	case n.region == nil:
		n.startType()
	case n.serves():
		n.closeType()
	case n.closed():
		n.startType()
	}
}

// closeType hands the shards over, and ends what is left by force a while later.
func (n *simNode) closeType() {
	n.w.verbose("%v closes its region", n.uid)
	n.absence.closing = true
	n.post(protocol.Leave{})
	if region := n.region; n.w.opt.crashes {
		n.w.after(n.w.between(0, 3*time.Second), func() {
			if n.alive && n.region == region {
				for s := range n.shards { // order: all are marked
					n.w.unordered[s] = true // no region fences
				}
				n.post(protocol.Quit{})
			}
		})
	}
}

// startType makes new machines of what the node has promised.
func (n *simNode) startType() {
	past := n.absence.who.Predecessor
	if n.region != nil {
		past = n.region.Predecessor()
		if n.coordinator != nil {
			past.Seq = n.coordinator.Predecessor().Seq
		}
	}
	if n.w.opt.forgets {
		past = protocol.Predecessor{}
	}
	n.w.verbose("%v starts its region: %+v", n.uid, past)
	for _, s := range slices.Sorted(maps.Keys(n.buffers)) {
		n.w.lose("started again", len(n.buffers[s]))
	}
	clear(n.buffers)
	n.absence.closing, n.inbox, n.routes = false, nil, make([]protocol.Route, n.w.opt.shards)
	clear(n.timers)
	n.makeMachines(past)
	n.setLease(n.lease)
	if n.view != nil {
		n.install(n.view)
	}
	if !n.proxy {
		var es []protocol.Entry
		for _, s := range slices.Sorted(maps.Keys(n.w.table)) {
			es = append(es, n.w.table[s])
		}
		n.table(es)
	}
}

// startSome has the type run on some nodes, for good: on the oldest, or there is no coordinator,
// and on one that may host.
func (w *world) startSome() {
	if !w.opt.absences {
		return
	}
	w.run(6 * time.Second) // what ends has ended
	hosts := slices.DeleteFunc(w.live(), func(n *simNode) bool {
		return n.proxy || n.leaving || n.cut || w.member(n.uid) == nil
	})
	serves := func(n *simNode) bool { return n.serves() }
	oldest, _ := w.view.Oldest("r")
	for i, n := range hosts {
		if n.serves() || n.region != nil && !n.closed() {
			continue
		}
		if n.uid == oldest.UID && n.region == nil || w.chance(30) ||
			i == len(hosts)-1 && !slices.ContainsFunc(hosts, serves) {
			n.startType()
		}
	}
}

// TestSimAbsences: the type is not started on some nodes, is closed on others, in order or by
// force, and started again, while members come and go. No entity lives twice, messages stay in
// order, and in the end those that run the type have service.
func TestSimAbsences(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 4, proxies: 1, shards: 8, entities: 24, absences: true, lossy: true})
	simulate(t, simOptions{
		nodes: 4, proxies: 1, shards: 8, entities: 24, absences: true, crashes: true, lossy: true, remember: true,
	})
}

func TestSimFindsForgottenPast(t *testing.T) {
	t.Parallel()
	caught(t, simOptions{
		nodes: 4, proxies: 1, shards: 8, entities: 24, absences: true, crashes: true, lossy: true, forgets: true,
	})
}
