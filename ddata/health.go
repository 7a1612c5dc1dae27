package ddata

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// stuckAfter is how long a goroutine of the node may be at a few steps before it counts as stuck.
// Work that takes seconds, such as a repair of millions of items, is not.
const stuckAfter = 30 * time.Second

// Health reports whether the node is alive and whether it may be sent requests, with the reasons
// why not, in words that say what to do. It returns without waiting. A liveness probe reads
// Health().Live, a readiness probe Health().Ready; events.HealthHandler answers both:
//
//   - Live is false when the node has ended, or one of its goroutines has stood still for half a
//     minute. A node that waits for others, or has lost its lease, is live: to start it again would
//     not help.
//   - Ready is false before the node is Up, and while it has not got its data or holds no lease. It
//     is false after its store has failed, and from the moment that it begins to leave. Extensions
//     of the node have reasons of their own (host.Lifecycle).
func (n *Node) Health() events.Health {
	if err := n.life.why(); err != nil {
		return events.Health{Reasons: []string{fmt.Sprintf("the node has ended: %v; start the node again", err)}}
	}
	stuck := n.stuck(time.Now())
	missing := n.missing()
	return events.Health{Live: len(stuck) == 0, Ready: len(stuck)+len(missing) == 0, Reasons: append(stuck, missing...)}
}

// stuck names what stands still.
func (n *Node) stuck(now time.Time) (reasons []string) {
	if d := n.members.loop.Busy(now); d > stuckAfter {
		reasons = append(reasons, fmt.Sprintf("the membership has stood still for %v: OnEvent or "+
			"a Watcher does not return", d.Round(time.Second)))
	}
	if r := n.members.records; r != nil {
		if d := r.Busy(now); d > stuckAfter {
			reasons = append(reasons, fmt.Sprintf("the disk of Config.Dir %s has been storing the view for %v: the "+
				"node goes on with the view before; see to the disk",
				n.cfg.Dir, d.Round(time.Second)))
		}
	}
	for _, set := range keyspace.Datasets(n.cfg.Roles) {
		if d := n.replicas[set].loop.Busy(now); d > stuckAfter {
			reasons = append(reasons, fmt.Sprintf("the replicator of the %v has stood still for %v: an update "+
				"function or OnEvent does not return",
				set, d.Round(time.Second)))
		}
	}
	return reasons
}

// missing names what the node lacks to be ready.
func (n *Node) missing() (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if n.life.leaving.Load() {
		add("the node is leaving")
	}
	v := n.View()
	me, member := v.Member(n.uid)
	switch {
	case v.Epoch == 0:
		add("no view yet: %s", n.members.waiting())
	case !member || me.Status == view.Joining:
		add("joining: %s", n.members.waiting())
	case !n.HoldsLease():
		add("no lease: too many members do not answer, or this process stood still; look for a cut network and for " +
			"members that are down")
	}
	for _, set := range keyspace.Datasets(n.cfg.Roles) {
		r := n.replicas[set]
		if v.Epoch > 0 && !n.progress.hasCaughtUp(set) {
			add("the %v is not here yet", set)
		}
		if err := r.storeFault.Load(); err != nil {
			add("the store of the %v failed: %v; see to its disk", set, *err)
		}
	}
	reasons = append(reasons, n.extensions.missing()...)
	return reasons
}
