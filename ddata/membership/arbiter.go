package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// arbiterScene is what this node knows at this moment.
func (m *Machine) arbiterScene() arbitration.Scene {
	return arbitration.Scene{
		Now: m.now, View: m.view, Reports: m.reports, Verdicts: &m.downs, Reach: m.reach, Reachable: m.Reachable,
	}
}

// speaks reports whether this node may speak for the arbiter now.
func (m *Machine) speaks() bool { return m.arbiter.Speaks(m.now, m.view) }

// takeArbiter carries out what a call of the arbiter's carrier wants done.
func (m *Machine) takeArbiter() {
	out := m.arbiter.Output()
	m.fx.Arbiter = append(m.fx.Arbiter, out.Ops...)
	if out.Given != "" {
		m.fx.event(ArbiterGiven{out.Given})
	}
	if out.Failing != "" {
		m.fx.event(ArbiterFailing{out.Failing})
	}
	if out.Tell {
		m.tell()
	}
	m.wake = m.wake || out.Wake
	if !out.Due.IsZero() {
		m.dueAt(out.Due)
	}
}

// onArbiterAcquired makes this node the arbiter's mouth. What the arbiter has decided is installed;
// what it has promised binds this node.
func (m *Machine) onArbiterAcquired(in ArbiterAcquired) {
	r, ok := m.arbiter.Acquired(m.arbiterScene(), in.Record, in.Until)
	defer m.takeArbiter()
	if !ok {
		return
	}
	if r.View != nil {
		if m.onDecided(r.View); m.done != nil {
			return
		}
	}
	if !m.arbiter.Bound(r, m.view.Epoch) { // others have seen more than this node
		return
	}
	if r.Epoch == m.view.Epoch {
		m.voter.Bind(r.Promised)
	}
	m.fx.event(ArbiterTaken{m.view.Epoch})
}

// onArbiterSaved says what the arbiter has done, now that it is certain. What it accepted stays
// decided.
func (m *Machine) onArbiterSaved(in ArbiterSaved) {
	decided, p := m.arbiter.Saved(m.arbiterScene(), in.Err)
	m.takeArbiter()
	if decided != nil {
		m.onDecided(decided)
	}
	if p != nil {
		m.voter.ArbiterPromised(m.scene(), *p)
		m.takeVoter()
	}
}

// onArbiterLost gives up what this node had by the arbiter's word.
func (m *Machine) onArbiterLost(in ArbiterLost) {
	if !m.arbiter.Lost(m.now) {
		return
	}
	m.holder.LoseArbiter()
	m.fx.event(ArbiterGiven{in.Err})
	m.renewLease()
	m.takeArbiter()
}

// onDecided takes a view of which this node knows that it is decided, and tells all nodes that it
// concerns.
func (m *Machine) onDecided(v *view.View) {
	if v.Cluster == m.view.Cluster && v.Epoch == m.view.Epoch+1 && v.Parent != m.view.Digest && !v.Founded {
		m.fork(v.String())
		return
	}
	if v.Cluster == m.view.Cluster && v.Epoch > m.view.Epoch {
		m.fx.announce(m.cfg.UID, m.view, v)
		m.install(v)
	}
}
