package membership

import "time"

// heard notes that a message of the peer came: that, and nothing else, makes it reachable.
func (m *Machine) heard(p *peer) {
	p.heard = m.now
	p.suspected = false
	if !p.unreachable.IsZero() {
		m.reachAt, m.wake = time.Time{}, true
	}
}

// advanceReach compares what was heard with UnreachableAfter. What is heard only puts off the time
// at which a member falls silent. So it looks at no member before the first one could have fallen
// silent, except at those that were unreachable or are suspected.
func (m *Machine) advanceReach() {
	if m.now.Before(m.reachAt) {
		m.dueAt(m.reachAt)
		return
	}
	m.reachAt = m.now.Add(m.cfg.UnreachableAfter)
	for _, o := range m.view.Members {
		p := m.peers[o.UID]
		if p == nil || !p.watched && !p.suspected && p.unreachable.IsZero() {
			continue
		}
		limit := p.heard.Add(m.patience(p))
		switch silent := !m.now.Before(limit); {
		case silent && p.unreachable.IsZero():
			p.unreachable = m.now
			m.event(MemberUnreachable{o})
		case !silent && !p.unreachable.IsZero():
			p.unreachable = time.Time{}
			m.event(MemberReachable{o})
		}
		if p.unreachable.IsZero() && limit.Before(m.reachAt) {
			m.reachAt = limit
		}
	}
	m.dueAt(m.reachAt)
}

// patience is how long a peer may be silent. A hint halves it.
func (m *Machine) patience(p *peer) time.Duration {
	if p.suspected {
		return max(m.cfg.UnreachableAfter/2, 2*m.cfg.HeartbeatInterval)
	}
	return m.cfg.UnreachableAfter
}

// onHint takes memberlist's word for what it is: a candidate to ask, or a reason to doubt.
func (m *Machine) onHint(h Hint) {
	if m.view == nil {
		if h.Alive {
			m.bootstrap.addTarget(m, h.Addr)
		}
		return
	}
	if h.Alive {
		m.introduce(h)
		return
	}
	for _, o := range m.view.Members {
		p := m.peers[o.UID]
		if p == nil || o.UID != h.UID && (h.UID != 0 || o.Addr != h.Addr) {
			continue
		}
		if m.cfg.Faults.DeadMeansRemoved {
			m.removeByHint(o.UID)
			return
		}
		if !p.watched && !p.suspected {
			p.heard = m.now // from here on it is asked, and its silence counts
		}
		p.suspected = true
		m.reachAt = time.Time{}
		m.sendMember(o.UID, m.heartbeat())
		m.wake = true
	}
}

// removeByHint is the planted error DeadMeansRemoved: what a cluster that trusts its failure
// detector would do.
func (m *Machine) removeByHint(u UID) {
	next := m.view.Next(m.hash)
	next.Members = nil
	for _, o := range m.view.Members {
		if o.UID != u {
			next.Members = append(next.Members, o)
		}
	}
	if next.Check() == nil {
		m.announce(next)
		m.install(next)
	}
}
