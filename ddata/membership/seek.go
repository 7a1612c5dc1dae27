package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
)

// seeking is what the configuration says of looking for a cluster.
func (c *Config) seeking(common bootstrap.Common) bootstrap.Config {
	return bootstrap.Config{
		Common: common, Self: c.self(), Seeds: c.Seeds, Discovers: c.Discovers, Expect: c.BootstrapExpect,
		AnyDisks: c.BootstrapAnyDisks,
		Durable:  c.DurableKeys, VotersMax: c.VotersMax, DiskSince: c.DiskSince, Strategy: c.Strategy, Enough: c.enough,
		Beat: c.HeartbeatInterval, StableAfter: c.StableAfter, Timeout: c.BootstrapTimeout,
		TTL: c.joinerTTL(), Promise: c.promise(),
		OnlyLastDisks: c.Defects.OnlyLastDisks,
	}
}

// disk is where the seeker's lock and the voter's accepted view are stored: in the machine's record.
type disk struct{ m *Machine }

var (
	_ bootstrap.Disk = disk{}
	_ voting.Disk    = disk{}
)

// Lock stores the view beside the last one.
func (d disk) Lock(v *view.View) uint64 {
	return d.m.persist(record.Record{Last: d.m.store.Record().Last, Pending: v, Settled: d.m.store.Record().Settled})
}

// IsStored reports whether a record, or one that replaced it, is on disk.
func (d disk) IsStored(number uint64) bool { return d.m.store.IsStored(number) }

// Pending returns the view that was locked last.
func (d disk) Pending() *view.View { return d.m.store.Record().Pending }

// takeSeeker carries out what a call of the seeker wants done.
func (m *Machine) takeSeeker() {
	out := m.seeker.Output()
	m.stats.DroppedFull += out.Dropped.Full
	m.stats.DroppedBad += out.Dropped.Bad
	m.stats.DroppedStale += out.Dropped.Stale
	m.stats.DroppedOtherCluster += out.Dropped.OtherCluster
	for _, e := range out.Send {
		m.fx.send(e.To, e.Addr, e.Msg)
	}
	for _, reason := range out.Waiting {
		m.fx.event(Waiting{reason})
	}
	m.wake = m.wake || out.Wake
	if !out.Due.IsZero() {
		m.dueAt(out.Due)
	}
	for _, v := range out.Install {
		if m.done == nil {
			m.install(v)
		}
	}
	switch {
	case out.Stalled != "":
		m.becomeDone(&StalledError{Waiting: out.Stalled})
	case out.Refused != nil:
		m.becomeDone(&RefusedError{By: out.Refused.By, Reason: out.Refused.Reason, Text: out.Refused.Text})
	}
}

// onBootstrap takes what is said to a node that looks for a cluster. A node with a view tells one
// that has locked itself what has become of that founding. If the cluster has gone on without it,
// because it was founded anew or has dropped it, it has to start again as another.
func (m *Machine) onBootstrap(r Receive) {
	if m.view == nil {
		m.seeker.Receive(m.now, r.From, r.FromAddr, r.Msg)
		m.takeSeeker()
		return
	}
	l, ok := r.Msg.(bootstrap.Lock)
	switch {
	case !ok:
		m.stats.DroppedStale++
	case m.view.Has(r.From):
		m.fx.send(r.From, m.view.Addr(r.From), message.Commit{View: m.view.View})
	case l.View.Cluster == m.view.Cluster && l.View.Epoch <= m.view.Epoch:
		m.fx.send(r.From, r.FromAddr, bootstrap.Refuse{To: r.From, Cluster: m.view.Cluster,
			Reason: bootstrap.ReasonGone,
			Text:   "the cluster was founded and goes on without it"})
	default:
		m.stats.DroppedOtherCluster++
	}
}
