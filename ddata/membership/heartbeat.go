package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// flags are those of this node's heartbeats.
func (m *Machine) flags() report.Flags {
	f := m.self.Flags()
	if m.voter.Frozen() {
		f |= report.Frozen
	}
	if m.speaks() {
		f |= report.Arbiter
	}
	if m.parting.Begun() {
		f |= report.Parting
	}
	return f
}

// beats reports whether heartbeats go to the member. They ask for grants, so all voters get them.
// If all full members vote, learners get them too, and each member sees for itself which others are
// there. Else the voters learn it from the members that beat to them. A member without a vote gets
// a heartbeat only if it seems to be gone, to tell it of an operator's word, or to hear from it
// whether it closes.
func (m *Machine) beats(o view.Member) bool {
	if o.UID == m.cfg.UID {
		return false
	}
	return !m.view.Capped || m.view.Votes(o) || m.reach.Doubts(o.UID) || m.downs.On(o.UID) || m.asksIfCloses(o)
}

// advanceBeat sends heartbeats when they are due.
func (m *Machine) advanceBeat() {
	if m.now.Before(m.beatAt) {
		m.dueAt(m.beatAt)
		return
	}
	m.beatAt = m.now.Add(m.cfg.HeartbeatInterval)
	hb := m.heartbeat()
	lost := !m.holder.Votes().Holds(m.now)
	for _, o := range m.view.Members {
		if !m.beats(o) {
			continue
		}
		m.fx.send(o.UID, o.Addr, hb)
		if lost && !m.Reachable(o.UID) { // a new incarnation there may know what has become of the cluster
			m.fx.send(0, o.Addr, message.Fetch{Cluster: m.view.Cluster})
		}
	}
	m.dueAt(m.beatAt)
}

// sendHeartbeat sends a heartbeat to others, also to those that get none otherwise.
func (m *Machine) sendHeartbeat(to []view.Member) {
	hb := m.heartbeat()
	for _, o := range to {
		if o.UID != m.cfg.UID {
			m.fx.send(o.UID, o.Addr, hb)
		}
	}
}

// tellVoters tells the voters what this node says of itself: they decide what follows.
func (m *Machine) tellVoters() {
	if m.view != nil {
		m.sendHeartbeat(m.view.Voters)
		m.wake = true
	}
}

func (m *Machine) heartbeat() message.Heartbeat {
	return message.Heartbeat{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Tag: m.view.Digest.Tag(),
		Mono: int64(m.now.Sub(m.start)), Wall: m.now.UnixNano(),
		Flags: m.flags(), Settled: m.self.Settled(), Moved: m.self.Moved(), Downs: m.downs.List(message.DownsMax),
	}
}

func (m *Machine) onHeartbeat(r Receive, hb message.Heartbeat) {
	m.answerParting(r, hb)
	if same := m.sameEpoch(r, hb.Cluster, hb.Epoch); !same {
		m.tellView(r, hb.Cluster, hb.Epoch)
		if m.view != nil && hb.Cluster == m.view.Cluster && m.reports.HearForGood(r.From, hb.Flags) {
			m.wake = true
		}
		if !m.cfg.Defects.AnyEpoch || m.view == nil || hb.Cluster != m.view.Cluster {
			return
		}
	} else if hb.Tag != m.view.Digest.Tag() {
		m.fork("heartbeat of " + r.From.String())
		return
	}
	if !m.reports.Has(r.From) {
		m.stats.DroppedBad++
		return
	}
	if hb.Flags&report.Arbiter > m.reports.Flags(r.From)&report.Arbiter {
		m.fx.send(r.From, m.view.Addr(r.From), m.heartbeat()) // the lease may hang on its answer
	}
	m.learn(r.From, hb)
	granted := (!m.view.Capped || m.view.IsVoter(m.cfg.UID)) && m.mayGrant(r.From)
	if granted {
		m.stats.GrantsGiven++
		m.granter.Grant(r.From, m.now)
	} else {
		m.stats.GrantsWithheld++
	}
	m.fx.send(r.From, m.view.Addr(r.From), message.Grant{
		Cluster: hb.Cluster, Epoch: hb.Epoch, Mono: hb.Mono, Wall: hb.Wall, Granted: granted,
		Arbiter: granted && m.speaks(), Closes: m.self.ToldClosing(),
	})
	if m.reports.Arrive(r.From, hb.Epoch) && !m.cfg.Defects.NoV6 && !m.holder.HasGrant(r.From, m.now) &&
		(!m.view.Capped || m.view.IsVoter(r.From)) {
		m.fx.send(r.From, m.view.Addr(r.From), m.heartbeat()) // V6: it answers for this epoch only now
	}
}

// learn takes over what a heartbeat of this epoch reports.
func (m *Machine) learn(u view.UID, hb message.Heartbeat) {
	news, settled := m.reports.Hear(u, m.now, report.Said{Flags: hb.Flags, Settled: hb.Settled, Moved: hb.Moved})
	m.wake = m.wake || news
	if settled {
		m.settledUpTo(u, hb.Settled)
	}
	for _, u := range hb.Downs {
		m.down(u)
	}
	if hb.Flags&report.Closing != 0 {
		m.close()
	}
}

// mayGrant reports whether a member may be granted a lease now: R2 freezes all grants, V2 those to
// members that a refused proposal would drop. A node whose disk says that nothing it granted is in
// use grants none.
func (m *Machine) mayGrant(u view.UID) bool {
	frozen := m.voter.Frozen() && !m.cfg.Defects.NoFreeze
	return !frozen && m.parting.Closed() == 0 && !m.granter.HoldsBack(u, m.now) && !m.downs.On(u)
}

// sameEpoch sorts out what belongs to another cluster or epoch, and asks for a newer view when one
// is heard of (V6: installing it sends heartbeats at once).
func (m *Machine) sameEpoch(r Receive, cluster view.ClusterID, epoch view.Epoch) bool {
	switch {
	case m.view == nil:
		m.seeker.HeardCluster(m.now, cluster)
		m.takeSeeker()
		m.fx.send(r.From, r.FromAddr, message.Fetch{Cluster: cluster})
	case cluster != m.view.Cluster:
		m.otherCluster(r, cluster)
	case epoch < m.view.Epoch:
		m.stats.DroppedStale++
	case epoch > m.view.Epoch:
		m.stats.DroppedStale++
		// one answer is enough: a view goes to all members at about the same time
		if m.fetches.over(m.now, m.cfg.HeartbeatInterval/4) {
			m.fx.send(r.From, addrOf(m.view, r), message.Fetch{Cluster: cluster})
		}
	default:
		return true
	}
	return false
}

// tellView helps a node whose message shows that it has missed a view. Just after installing one,
// the news is probably on its way already.
func (m *Machine) tellView(r Receive, cluster view.ClusterID, epoch view.Epoch) {
	if m.view == nil || cluster != m.view.Cluster || epoch >= m.view.Epoch {
		return
	}
	switch {
	case !m.view.Has(r.From):
		m.fx.send(r.From, r.FromAddr, message.Commit{View: m.view.View})
	case !m.now.Before(m.view.At.Add(m.cfg.HeartbeatInterval / 2)):
		// it fetches the view, from the first of all that tell it so
		m.fx.send(r.From, m.view.Addr(r.From), m.heartbeat())
	}
}

// addrOf returns the address of the sender: that of the view, nil = none, if it is a member.
func addrOf(v *view.Installed, r Receive) string {
	if v != nil {
		if o, ok := v.Member(r.From); ok {
			return o.Addr
		}
	}
	return r.FromAddr
}

func (m *Machine) onFetch(r Receive, f message.Fetch) {
	switch {
	case m.view == nil:
		m.stats.DroppedStale++
	case f.Cluster != m.view.Cluster:
		m.otherCluster(r, f.Cluster)
	default:
		m.fx.send(r.From, addrOf(m.view, r), message.Commit{View: m.view.View})
	}
}
