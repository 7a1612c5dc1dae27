package membership

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

func (m *Machine) onCommit(r Receive, c message.Commit) {
	v := c.View
	defer m.answerCommit(r, v)
	switch {
	case m.view == nil:
		m.seeker.OnFirstView(m.now, v)
		m.takeSeeker()
	case v.Cluster != m.view.Cluster:
		m.otherCluster(r, v.Cluster)
	case !v.Has(r.From) && !m.view.Has(r.From): // a node that tells of a view is in it, or was here
		m.stats.DroppedOtherCluster++
	case v.Epoch < m.view.Epoch:
		m.stats.DroppedStale++
	case v.Epoch == m.view.Epoch:
		if v.Hash() != m.view.Digest {
			m.fork(v.String())
		}
	case v.Epoch == m.view.Epoch+1 && v.Parent != m.view.Digest && !v.Founded:
		m.fork(v.String())
	default:
		m.install(v)
	}
}

// fork reports what rule 1 of the chain excludes: two views of one epoch. The own view stays.
func (m *Machine) fork(other string) {
	m.stats.Forks++
	m.fx.event(Forked{Own: m.view.String(), Other: other})
}

// install makes a decided view the current one. The layers above hear of it when it is stored.
func (m *Machine) install(v *view.View) {
	me, listed := v.Member(m.cfg.UID)
	if was := m.Self().UpNumber; !listed || was != 0 && me.UpNumber != was {
		// not listed, or dropped in between and taken for a joiner again because of a probe that
		// came late
		m.becomeAbsent(v)
		return
	}
	if m.fx.notices.isFull() {
		m.becomeDone(fmt.Errorf("%w: the disk has not answered while %d views were decided", ErrStore, heldMax))
		return
	}
	m.debts.Forget(m.now, m.cfg.UnreachableAfter)
	old := m.View()
	m.stats.ViewsInstalled++
	m.holder.Install(m.now)
	m.view = view.Install(v, m.now)
	m.voter.Install()
	m.granter.Install(m.now, m.view)
	m.arbiter.Install()
	m.reports.Follow(v)
	// heartbeats pass between any two members, except two that do not vote
	all := !m.view.Capped || m.view.IsVoter(m.cfg.UID)
	m.reach.Follow(m.now, m.view.Others(m.cfg.UID), func(o view.Member) bool { return all || m.view.Votes(o) })
	m.downs.Follow(v)
	m.joiners.Follow(m.now, old, v)
	m.fx.notices.hold(v, m.persist(record.Record{Last: v}))
	m.settlement = view.Settle(v, m.reports.Settled)
	m.noteSettled()
	for _, e := range changes(old, v) {
		if _, moves := e.(KeysMoving); moves {
			m.slowMove.begin(m.now, slowMove)
		}
		m.fx.event(e)
	}
	m.tellViews()
	m.renewLease()
	m.wake = true
	if !m.cfg.Defects.NoV6 || old == nil {
		m.beatAt = m.now // V6
	}
	if old == nil {
		m.holder.Begin(m.now)
		m.parting.Accompany(m.now)
		candidates := m.seeker.Candidates(m.now)
		m.seeker = nil
		for _, p := range candidates { // a founder has not founded with these
			p.Heard = 0 // which was of another cluster, or is old
			if v.Founded && !v.Has(p.Self.UID) {
				m.onProbe(Receive{From: p.Self.UID, FromAddr: p.Self.Addr}, p)
			}
		}
	}
	m.tellJoiners()
}

// becomeAbsent ends a node that the others have decided to go on without.
func (m *Machine) becomeAbsent(v *view.View) {
	m.parting.Exclude(v)
	switch {
	case !m.mayGo():
		m.becomeDone(&DownedError{Cause: fmt.Sprintf("view %v/%v was decided without it", v.Cluster, v.Epoch)})
	case m.debts.Empty() || m.cfg.Defects.GoesUntold:
		m.becomeDone(m.goneAs())
	default: // it ends when the nodes that it owes the word have it
		m.parting.End(m.goneAs())
		m.holder.End()
		m.wake = true
	}
}
