package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// heartbeat is what this node says to the others at this moment.
func (m *member) heartbeat() message.Heartbeat {
	return message.Heartbeat{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Tag: m.view.Digest.Tag(),
		Mono: int64(m.now.Sub(m.start)), Wall: m.now.UnixNano(),
		Flags: m.flags(), Settled: m.self.Settled(), Moved: m.self.Moved(), Downs: m.downs.List(message.DownsMax),
		Offers: m.self.Unlisted(m.view.View, m.uid),
	}
}

// tellVoters tells the voters what this node says of itself, if that is news: they decide what
// follows.
func (m *member) tellVoters(news bool) {
	if news {
		m.pulse.send(m.view.Voters, m.heartbeat())
		m.wake = true
	}
}

// onHeartbeat learns from a heartbeat, and answers it with a grant.
func (m *member) onHeartbeat(r Receive, hb message.Heartbeat) {
	m.ending.answerParting(r, hb)
	if same := m.strays.isCurrent(r, hb.Cluster, hb.Epoch); !same {
		m.strays.tellView(r, hb.Cluster, hb.Epoch, m.heartbeat)
		if hb.Cluster != m.view.Cluster {
			return
		}
		m.wakeIf(m.reports.HearForGood(r.From, hb.Flags))
		if !m.cfg.Planted(defect.AnyEpoch) {
			return
		}
	} else if hb.Tag != m.view.Digest.Tag() {
		m.strays.fork("heartbeat of " + r.From.String())
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
	m.grant(r.From, hb)
	if m.reports.Arrive(r.From, hb.Epoch) && !m.cfg.Planted(defect.NoV6) && !m.leasing.holder.HasGrant(r.From, m.now) &&
		(!m.view.Capped || m.view.IsVoter(r.From)) {
		m.fx.send(r.From, m.view.Addr(r.From), m.heartbeat()) // V6: it answers for this epoch only now
	}
}

// learn takes over what a heartbeat of this epoch reports.
func (m *member) learn(u view.UID, hb message.Heartbeat) {
	news, settled := m.reports.Hear(u, m.now, report.Said{
		Flags: hb.Flags, Settled: hb.Settled, Moved: hb.Moved, Offers: hb.Offers,
	})
	m.wakeIf(news)
	if hb.Flags&report.Parting != 0 {
		m.ending.takeWord(u)
	}
	if settled {
		m.storing.settledUpTo(u, hb.Settled)
	}
	for _, u := range hb.Downs {
		m.down(u)
	}
	if hb.Flags&report.Closing != 0 {
		m.close()
	}
}

// grant answers a heartbeat. A granted lease is also a promise (G1).
func (m *member) grant(to view.UID, hb message.Heartbeat) {
	granted := (!m.view.Capped || m.view.IsVoter(m.uid)) && m.ballots.mayGrant(to)
	if granted {
		m.stats.GrantsGiven++
		m.ballots.granter.Grant(to, m.now)
	} else {
		m.stats.GrantsWithheld++
	}
	m.fx.send(to, m.view.Addr(to), message.Grant{
		Cluster: hb.Cluster, Epoch: hb.Epoch, Mono: hb.Mono, Wall: hb.Wall, Granted: granted,
		Arbiter: granted && m.ballots.speaks(), Closes: m.self.ToldClosing(),
	})
}

// onGrant takes the answer to a heartbeat of this epoch.
func (m *member) onGrant(r Receive, g message.Grant) {
	same := m.strays.isCurrent(r, g.Cluster, g.Epoch)
	if same || m.cfg.Planted(defect.AnyEpoch) && g.Cluster == m.view.Cluster {
		m.leasing.onGrant(r, g)
	}
}
