package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// advanceArbiter tries for the arbiter's lease when it knows no holder, and gives it back to a
// larger side.
func (m *Machine) advanceArbiter() {
	a := &m.arbiter
	s, ok := m.arbitrated()
	if !ok {
		return
	}
	if a.held && !m.now.Before(a.until) {
		m.onArbiterLost(ArbiterLost{Err: "it has expired"})
	}
	reached, all, rank := m.census(s)
	if minority := 2*reached < all; minority != a.minority {
		a.minority, a.wantedAt = minority, time.Time{}
	}
	switch {
	case a.held:
		m.dueAt(a.until)
		m.maybeYield(s)
	case !a.busy:
		m.maybeAcquire(s, rank)
	}
}

// census counts the voters that make a quorum with the arbiter: those that are reached, all, and
// those that try for the lease before this node.
func (m *Machine) census(s downing.LeaseMajority) (reached, all, rank int) {
	older := true
	for _, v := range s.Counting(m.view.Voters) {
		all++
		older = older && v.UID != m.cfg.UID
		if m.Reachable(v.UID) {
			reached++
			if older && !m.reports.Stopped(v.UID) && !m.downs.On(v.UID) {
				rank++
			}
		}
	}
	return reached, all, rank
}

// maybeAcquire: the oldest tries first, the others a heartbeat later each; a smaller side later
// than a larger one.
func (m *Machine) maybeAcquire(s downing.LeaseMajority, rank int) {
	a := &m.arbiter
	if !m.counts(m.cfg.UID) || m.self.Has(report.Stopped) || m.view.Epoch < a.behind || m.hearsCarrier() {
		a.wantedAt = time.Time{}
		return
	}
	if a.wantedAt.IsZero() {
		a.wantedAt = m.now
	}
	delay := time.Duration(min(rank, ranksMax)) * m.cfg.HeartbeatInterval
	if a.minority {
		delay += m.minorityDelay(s)
	}
	if at := laterOf(a.tryAt, a.wantedAt.Add(delay)); m.now.Before(at) {
		m.dueAt(at)
		return
	}
	a.busy = true
	m.fx.Arbiter = append(m.fx.Arbiter, ArbiterOp{Do: ArbiterAcquire})
}

// ranksMax bounds how long the youngest wait.
const ranksMax = 3

func (m *Machine) minorityDelay(s downing.LeaseMajority) time.Duration {
	if s.MinorityDelay > 0 {
		return s.MinorityDelay
	}
	return 2 * m.cfg.HeartbeatInterval
}

// maybeYield releases for the sake of others: this node has stopped, or is on the smaller side. The
// latter it does once and then not for a while: if the larger side is gone it gets the lease back,
// and a network that flaps must not keep it from ever using that.
func (m *Machine) maybeYield(s downing.LeaseMajority) {
	a := &m.arbiter
	switch {
	case a.busy:
	case m.self.Has(report.Stopped) || !m.counts(m.cfg.UID):
		m.becomeUnarbitrated()
		m.event(ArbiterGiven{"this node goes"})
	case a.minority && !m.now.Before(a.yieldAt):
		a.yieldAt = m.now.Add(m.cfg.SelfDownAfter)
		a.wantedAt = m.now
		m.becomeUnarbitrated()
		a.tryAt = m.now.Add(m.minorityDelay(s))
		m.dueAt(a.tryAt)
		m.event(ArbiterGiven{"less than half of the voters are here"})
	}
}

// becomeUnarbitrated gives the lease back. What it has granted to this node itself counts on like
// what it granted to others: the next holder waits for that.
func (m *Machine) becomeUnarbitrated() {
	a := &m.arbiter
	a.forgetUnsaved()
	a.held, a.accepting = false, false
	m.fx.Arbiter = append(m.fx.Arbiter, ArbiterOp{Do: ArbiterRelease})
	m.tell()
}

// onArbiterAcquired makes this node the arbiter's mouth. What the arbiter has decided is installed;
// what it has promised binds this node.
func (m *Machine) onArbiterAcquired(in ArbiterAcquired) {
	a := &m.arbiter
	a.busy = false
	var r arbiterRecord
	if len(in.Record) > 0 && !m.cfg.Defects.NoArbiterRecord {
		var err error
		if r, err = decodeArbiter(in.Record); err != nil {
			m.becomeUnarbitrated()
			m.arbiterFails("load: " + err.Error())
			return
		}
	}
	if r.Cluster != m.view.Cluster { // of a cluster that is no more
		r = arbiterRecord{}
	}
	a.held, a.since, a.until, a.record, a.wantedAt, a.failing = true, m.now, in.Until, r, time.Time{}, ""
	if r.View != nil {
		if m.onDecided(r.View); m.done != nil {
			return
		}
	}
	if r.Epoch > m.view.Epoch { // others have seen more than this node
		a.behind = r.Epoch
		m.becomeUnarbitrated()
		return
	}
	if r.Epoch == m.view.Epoch {
		m.acceptor.Bind(r.Promised)
	}
	m.event(ArbiterTaken{m.view.Epoch})
	m.tell()
}

func (m *Machine) onArbiterDenied(in ArbiterDenied) {
	a := &m.arbiter
	a.busy = false
	if in.Err != "" {
		m.arbiterFails("acquire: " + in.Err)
		return
	}
	a.failing, m.wake = "", true
	a.tryAt = m.now.Add(m.cfg.HeartbeatInterval)
}

// onArbiterLost: another may have it. Nothing that is out is said any more, but what was accepted
// and turns out to be saved.
func (m *Machine) onArbiterLost(in ArbiterLost) {
	a := &m.arbiter
	if !a.held {
		return
	}
	a.forgetUnsaved()
	a.held = false
	m.holder.LoseArbiter()
	a.tryAt = m.now.Add(m.cfg.HeartbeatInterval)
	m.event(ArbiterGiven{in.Err})
	m.renewLease()
	m.tell()
}

// arbiterFails tells what failed, once, and waits before it tries again.
func (m *Machine) arbiterFails(what string) {
	a := &m.arbiter
	a.tryAt = m.now.Add(2 * m.cfg.HeartbeatInterval)
	m.wake = true
	if a.failing != what {
		a.failing = what
		m.event(ArbiterFailing{what})
	}
}
