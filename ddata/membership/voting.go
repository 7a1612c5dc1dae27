package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
)

// voting is what the configuration says of the next view and of voting.
func (c *Config) voting() voting.Config {
	return voting.Config{
		Config: nextview.Config{
			Self: c.UID, Strategy: c.Strategy, Enough: c.enough, Beat: c.HeartbeatInterval,
			StableAfter: c.StableAfter, Promise: c.promise(),
			MoveUnasked: c.Defects.MoveUnasked, LeaveUnsettled: c.Defects.LeaveUnsettled,
			UpUnasked: c.Defects.UpUnasked,
		},
		LeaseDuration: c.LeaseDuration,
		NoPromise:     c.Defects.NoPromise, NoInstallPromise: c.Defects.NoInstallPromise, NoV2: c.Defects.NoV2,
		NeverFree: c.Defects.GoesUntold, StoppedProposes: c.Defects.StoppedProposes,
	}
}

// scene is what this node knows of the next view at this moment.
func (m *Machine) scene() *voting.Scene {
	return &voting.Scene{
		Scene: nextview.Scene{
			Now: m.now, View: m.view, Settled: m.settlement.Settled(), Closing: m.self.Has(report.Closing),
			Joiners: func() []joiners.Joiner { return m.joiners.Asking(m.now) }, Reports: m.reports, Verdicts: &m.downs,
			Reach: m.reach, Reachable: m.Reachable,
		},
		Consents: m.mayGo(), Parts: m.parting.Begun(),
	}
}

// leads reports whether it is the turn of this node to propose.
func (m *Machine) leads() bool { return m.voter.Leads(m.scene()) }

// onBallot hands a message of a ballot in the current epoch, from one of its voters, to the voter.
func (m *Machine) onBallot(r Receive, cluster view.ClusterID, epoch view.Epoch) {
	if !m.sameEpoch(r, cluster, epoch) {
		m.tellView(r, cluster, epoch)
		return
	}
	if !m.view.IsVoter(r.From) || !m.view.IsVoter(m.cfg.UID) {
		m.stats.DroppedBad++
		return
	}
	s := m.scene()
	switch msg := r.Msg.(type) {
	case message.Prepare:
		m.voter.OnPrepare(s, r.From, msg)
	case message.Prepared:
		m.voter.OnPrepared(s, r.From, msg)
	case message.Accept:
		m.voter.OnAccept(s, r.From, msg)
	case message.Accepted:
		m.voter.OnAccepted(s, r.From, msg)
	case message.Rejected:
		m.voter.OnRejected(s, msg)
	}
	m.takeVoter()
}

// takeVoter carries out what a call of the voter wants done.
func (m *Machine) takeVoter() {
	out := m.voter.Output()
	m.stats.count(out.Counts)
	m.fx.Send = append(m.fx.Send, out.Send...)
	if out.ForgetLate {
		m.joiners.ForgetLate(m.now)
	}
	m.wake = m.wake || out.Wake
	if !out.Due.IsZero() {
		m.dueAt(out.Due)
	}
	m.takeArbiter()
	if v := out.Decided; v != nil {
		m.debts.Decide(m.cfg.UID, m.view, v, m.reach)
		m.fx.announce(m.cfg.UID, m.view, v)
		m.install(v)
	}
}
