package ddata

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/figures"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/singletons"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/gossip"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// The metrics of a node; the table in package events explains them.
var (
	mViewEpoch = events.NewGauge("coterie_view_epoch", "Epoch of the installed view.")
	mFormat    = events.NewGauge("coterie_format_level", "Format level of the installed view.")
	mMembers   = events.NewGauge("coterie_members", "Members of the installed view.", "status")
	mLeaseHeld = events.NewGauge("coterie_lease_held", "1 while the node may run entities and singletons.")
	mOldest    = events.NewGauge("coterie_oldest", "1 while this node is the oldest of the role.", "role")
	mSingleton = events.NewGauge("coterie_singleton_running", "1 while the singleton runs here.", "name", "role")
	mEvents    = events.NewCounter("coterie_events_total", "Events by kind.", "event")
	mPanics    = events.NewCounter("coterie_user_panics_total", "Panics of the user's code that were survived.")
	mLive      = events.NewGauge("coterie_live", "1 while the node is live.")
	mReady     = events.NewGauge("coterie_ready", "1 while the node is ready.")
	mDropped   = events.NewCounter("coterie_transport_dropped_total", "Frames and connections given up.", "reason")
	mScreened  = events.NewCounter("coterie_gossip_refused_total",
		"Packets and streams of gossip that were turned away.", "reason")
	mLinks      = events.NewGauge("coterie_transport_links", "Outgoing connections.")
	mStoreQueue = events.NewGauge("coterie_store_queued_bytes", "Bytes that wait for the disk.")
	mStoreFile  = events.NewGauge("coterie_store_file_bytes", "Size of the store's file.")
	mMembership = events.CountersOf[membership.Stats]("coterie_membership_")
	mTransport  = events.CountersOf[transport.Stats]("coterie_transport_")
	mGossip     = events.CountersOf[gossip.Stats]("coterie_gossip_")
	mReplicator = events.CountersOf[effect.Stats]("coterie_replicator_", "role", "data")
)

// latest is a struct of counts that a machine's goroutine leaves for others after each batch of
// steps.
type latest[S any] struct {
	mu sync.Mutex
	s  S
}

func (l *latest[S]) store(s S) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s = s
}

func (l *latest[S]) load() S {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s
}

// reportMetrics tells a Meter of all counters and gauges.
func (n *Node) reportMetrics(report func(*events.Metric, float64, ...string)) {
	v := n.View()
	report(mViewEpoch, float64(v.Epoch))
	report(mFormat, float64(v.Format))
	count := map[view.Status]int{}
	for _, m := range v.Members {
		count[m.Status]++
	}
	for _, s := range []view.Status{view.Joining, view.Up, view.Leaving} {
		report(mMembers, float64(count[s]), strings.ToLower(s.String()))
	}
	is := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	h := n.Health()
	report(mLeaseHeld, is(n.HoldsLease()))
	report(mPanics, float64(n.reports.panics.Load()))
	report(mLive, is(h.Live))
	report(mReady, is(h.Ready))
	for _, s := range singletons.Of(n.Host()).All() {
		report(mSingleton, is(s.State() == singleton.Running), s.Name(), s.Role())
	}
	for kind, count := range n.reports.counts.All() {
		report(mEvents, float64(count), kind)
	}
	mMembership.Report(report, n.members.stats.load())
	st := n.net.Stats()
	mTransport.Report(report, st)
	report(mLinks, float64(st.LinksUp))
	for d, dropped := range st.Dropped {
		report(mDropped, float64(dropped), transport.Drop(d).String())
	}
	hints := n.swim.Stats()
	mGossip.Report(report, hints)
	for r, refused := range hints.Refused {
		report(mScreened, float64(refused), gossip.Refusal(r).String())
	}
	for _, role := range n.cfg.Roles {
		oldest, _ := v.Oldest(role)
		report(mOldest, is(oldest.UID == n.uid), role)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, set := range keyspace.Datasets(n.cfg.Roles) {
		mReplicator.Report(report, n.replicas[set].h.stats.load(), set.Role, set.Kind())
		f, err := effect.Figures{}, error(nil)
		if v.Epoch > 0 { // before, it may not have begun, and holds nothing
			f, err = Figures(ctx, n, set)
		}
		if err == nil { // of a replica that stands still nothing is told
			figures.Report(report, set, f)
		}
	}
	store := n.StoreStats()
	report(mStoreQueue, float64(store.Queued))
	report(mStoreFile, float64(store.File))
}
