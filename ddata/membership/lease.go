package membership

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// leaseScene is what the holder of this node's lease has to know of this moment.
func (m *Machine) leaseScene() nodelease.Scene {
	me, listed := m.view.Member(m.cfg.UID)
	s := nodelease.Scene{
		Now: m.now, Epoch: m.view.Epoch, Voters: m.view.Voters, Quorum: func(has func(view.UID) bool) bool {
			return m.cfg.Strategy.Quorum(m.view.Voters, has)
		},
		May:    listed && me.Status != view.Joining && (!m.self.Has(report.Stopped) || m.cfg.Defects.StoppedHolds),
		Speaks: m.speaks() && !m.voter.Frozen(),
	}
	if !m.cfg.Defects.NoV1 {
		s.Frozen = m.voter.FrozenAt()
	}
	return s
}

func (m *Machine) onGrant(r Receive, g message.Grant) {
	if !m.sameEpoch(r, g.Cluster, g.Epoch) &&
		(!m.cfg.Defects.AnyEpoch || m.view == nil || g.Cluster != m.view.Cluster) {
		return
	}
	sent := m.start.Add(time.Duration(g.Mono))
	if !m.reports.Has(r.From) || g.Mono < 0 || sent.After(m.now) {
		m.stats.DroppedBad++
		return
	}
	m.reports.HearClosing(r.From, g.Closes)
	if !g.Granted {
		return
	}
	m.stats.GrantsReceived++
	s := m.leaseScene()
	if !m.holder.Take(s, r.From, sent, g.Wall, g.Arbiter) {
		return
	}
	if at := m.holder.RenewAt(s); !at.IsZero() {
		m.dueAt(at)
		return
	}
	m.renewLease()
}

// renewLease counts the grants, and tells what that means for this node.
func (m *Machine) renewLease() {
	c := m.holder.Renew(m.leaseScene())
	if c.Lost {
		m.stats.LeasesLost++
		m.fx.event(LeaseLost{m.view.Epoch, lossCause(c, m.self.Has(report.Stopped))})
	}
	if c.Regained {
		m.fx.event(LeaseRegained{m.view.Epoch})
	}
}

// lossCause says why the lease is lost at this moment.
func lossCause(c nodelease.Change, stopped bool) LeaseLoss {
	switch {
	case stopped:
		return LeaseStopped
	case c.Suspended:
		return LeaseSuspended
	}
	return LeaseExpired
}

// advanceLease notices that the lease has run out, and gives up when it stays away.
func (m *Machine) advanceLease() {
	m.renewLease()
	h := m.holder
	if l := h.Lease(); !l.Forever() && h.Held() {
		m.dueAt(l.Until())
	}
	if h.Votes().Forever() {
		return
	}
	limit := h.LastAt().Add(m.cfg.SelfDownAfter)
	m.dueAt(limit)
	if m.now.Before(limit) {
		return
	}
	if m.mayGo() {
		m.becomeDone(m.goneAs())
		return
	}
	m.becomeDone(&DownedError{
		Cause: fmt.Sprintf("no lease for %v: too few of the members of view %v answered",
			m.cfg.SelfDownAfter, m.view.Epoch),
	})
}
