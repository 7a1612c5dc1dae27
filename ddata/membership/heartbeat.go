package membership

import "time"

// peer is what another member of the view has reported of itself. flags, epoch and frozenAt belong to
// the epoch of the view.
type peer struct {
	flags    Flags // as its last heartbeat said
	settled  Epoch
	moved    uint16    // the last move of which it has done its part
	epoch    Epoch     // of its last heartbeat
	frozenAt time.Time // when it was first seen frozen

	knowsStopped bool  // it has said that it knows that this node has stopped
	learned      Epoch // of the newest view that it has said to know, beside its heartbeats
	closes       bool  // it has said that the layers above know a view that is Closing
}

func (m *Machine) flags() (f Flags) {
	for _, b := range []struct {
		set  bool
		flag Flags
	}{
		{m.self.leaving, FlagLeaving}, {m.self.stopped, FlagStopped},
		{m.self.caughtUp, FlagCaughtUp}, {m.acceptor.Frozen(), FlagFrozen},
		{m.speaks(), FlagArbiter}, {m.self.closing, FlagClosing},
		{!m.parting.since.IsZero(), FlagParting},
	} {
		if b.set {
			f |= b.flag
		}
	}
	return f
}

// beats reports whether heartbeats go to the member. They ask for grants, so all voters get them.
// If all full members vote, learners get them too, and each member sees for itself which others are
// there. Else the voters learn it from the members that beat to them. A member without a vote gets
// a heartbeat only if it seems to be gone, to tell it of an operator's word, or to hear from it
// whether it closes.
func (m *Machine) beats(o Member) bool {
	if o.UID == m.cfg.UID {
		return false
	}
	return !m.view.Capped || m.view.Votes(o) || m.reach.Doubts(o.UID) || m.downs[o.UID] || m.asksIfCloses(o)
}

// advanceBeat sends heartbeats when they are due.
func (m *Machine) advanceBeat() {
	if !m.now.Before(m.beatAt) {
		m.beat()
	}
	m.dueAt(m.beatAt)
}

func (m *Machine) beat() {
	m.beatAt = m.now.Add(m.cfg.HeartbeatInterval)
	hb := m.heartbeat()
	lost := !m.holder.Votes().Holds(m.now)
	for _, o := range m.view.Members {
		if !m.beats(o) {
			continue
		}
		m.send(o.UID, o.Addr, hb)
		if lost && !m.Reachable(o.UID) { // a new incarnation there may know what has become of the cluster
			m.send(0, o.Addr, Fetch{Cluster: m.view.Cluster})
		}
	}
}

// farewell tells all members that this node goes, also those that get no heartbeats.
func (m *Machine) farewell() {
	hb := m.heartbeat()
	for _, o := range m.view.Members {
		if o.UID != m.cfg.UID {
			m.send(o.UID, o.Addr, hb)
		}
	}
}

func (m *Machine) heartbeat() Heartbeat {
	downs := sortedKeys(m.downs)
	if len(downs) > downsMax {
		downs = downs[:downsMax]
	}
	return Heartbeat{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Tag: m.view.Digest.Tag(),
		Mono: int64(m.now.Sub(m.start)), Wall: m.now.UnixNano(),
		Flags: m.flags(), Settled: m.self.settled, Moved: m.self.moved, Downs: downs,
	}
}

func (m *Machine) onHeartbeat(r Receive, hb Heartbeat) {
	m.answerParting(r, hb)
	if same := m.sameEpoch(r, hb.Cluster, hb.Epoch); !same {
		m.tellView(r, hb.Cluster, hb.Epoch)
		m.learnForGood(r.From, hb)
		if !m.anyEpoch(hb.Cluster) {
			return
		}
	} else if hb.Tag != m.view.Digest.Tag() {
		m.fork("heartbeat of " + r.From.String())
		return
	}
	p := m.peers[r.From]
	if p == nil {
		m.stats.DroppedBad++
		return
	}
	if hb.Flags&FlagArbiter > p.flags&FlagArbiter {
		m.sendMember(r.From, m.heartbeat()) // the lease may hang on its answer
	}
	m.learn(r.From, p, hb)
	granted := (!m.view.Capped || m.view.IsVoter(m.cfg.UID)) && m.mayGrant(r.From)
	if granted {
		m.stats.GrantsGiven++
		m.promises.Make(r.From, m.now.Add(m.cfg.promise()))
	} else {
		m.stats.GrantsWithheld++
	}
	m.sendMember(r.From, Grant{Cluster: hb.Cluster, Epoch: hb.Epoch, Mono: hb.Mono, Wall: hb.Wall, Granted: granted, Arbiter: granted && m.speaks(), Closes: m.self.closes})
	arrived := p.epoch < hb.Epoch
	p.epoch = hb.Epoch
	if arrived && !m.cfg.Defects.NoV6 && !m.holder.HasGrant(r.From, m.now) && (!m.view.Capped || m.view.IsVoter(r.From)) {
		m.sendMember(r.From, m.heartbeat()) // V6: it answers for this epoch only now
	}
}

// learn takes over what a heartbeat of this epoch reports.
func (m *Machine) learn(u UID, p *peer, hb Heartbeat) {
	if p.flags != hb.Flags || p.moved != hb.Moved || p.settled < hb.Settled && hb.Flags&FlagStopped != 0 { // else nothing waits for it (V4)
		m.wake = true
	}
	p.flags = hb.Flags | p.flags&flagsForGood
	p.moved = hb.Moved
	if p.settled < hb.Settled {
		p.settled = hb.Settled
		m.settledUpTo(u, hb.Settled)
	}
	if p.flags&FlagFrozen == 0 {
		p.frozenAt = time.Time{}
	} else if p.frozenAt.IsZero() {
		p.frozenAt = m.now
	}
	for _, u := range hb.Downs {
		m.down(u)
	}
	if hb.Flags&FlagClosing != 0 {
		m.close()
	}
}

// flagsForGood are those that no later heartbeat takes back.
const flagsForGood = FlagLeaving | FlagStopped | FlagParting

// learnForGood takes from a heartbeat of another epoch what no epoch revokes. A node that was the
// last to stop may have said so, and gone, before the view arrived in which another waits for its
// word.
func (m *Machine) learnForGood(u UID, hb Heartbeat) {
	if m.view == nil || hb.Cluster != m.view.Cluster {
		return
	}
	p, said := m.peers[u], hb.Flags&flagsForGood
	if p != nil && said&^p.flags != 0 {
		p.flags |= said
		m.wake = true
	}
}

// anyEpoch is the planted defect AnyEpoch: what is no message of this epoch is taken for one.
func (m *Machine) anyEpoch(cluster ClusterID) bool {
	return m.cfg.Defects.AnyEpoch && m.view != nil && cluster == m.view.Cluster
}

// mayGrant: R2 freezes all grants, V2 those to members that a refused proposal would drop.
func (m *Machine) mayGrant(u UID) bool {
	switch {
	case m.acceptor.Frozen() && !m.cfg.Defects.NoFreeze:
		return false
	case m.parting.last != 0: // its disk says that nothing it granted is in use
		return false
	case m.promises.HoldsBack(u, m.now) && !m.cfg.Defects.NoV2:
		return false
	}
	return !m.downs[u]
}

// sameEpoch sorts out what belongs to another cluster or epoch, and asks for a newer view when one
// is heard of (V6: installing it sends heartbeats at once).
func (m *Machine) sameEpoch(r Receive, cluster ClusterID, epoch Epoch) bool {
	switch {
	case m.view == nil:
		m.seeker.HeardCluster(m.now, cluster)
		m.takeOutput()
		m.send(r.From, r.FromAddr, Fetch{Cluster: cluster})
	case cluster != m.view.Cluster:
		m.otherCluster(r, cluster)
	case epoch < m.view.Epoch:
		m.stats.DroppedStale++
	case epoch > m.view.Epoch:
		m.stats.DroppedStale++
		if !m.now.Before(m.fetchAt) { // one answer is enough: a view goes to all members at about the same time
			m.fetchAt = m.now.Add(m.cfg.HeartbeatInterval / 4)
			m.send(r.From, m.addrOf(r), Fetch{Cluster: cluster})
		}
	default:
		return true
	}
	return false
}

// tellView helps a node whose message shows that it has missed a view. Just after installing one,
// the news is probably on its way already.
func (m *Machine) tellView(r Receive, cluster ClusterID, epoch Epoch) {
	if m.view == nil || cluster != m.view.Cluster || epoch >= m.view.Epoch {
		return
	}
	switch {
	case !m.view.Has(r.From):
		m.send(r.From, r.FromAddr, Commit{View: m.view.View})
	case !m.now.Before(m.view.At.Add(m.cfg.HeartbeatInterval / 2)):
		m.sendMember(r.From, m.heartbeat()) // it fetches the view, from the first of all that tell it so
	}
}

func (m *Machine) addrOf(r Receive) string {
	if m.view != nil {
		if o, ok := m.view.Member(r.From); ok {
			return o.Addr
		}
	}
	return r.FromAddr
}

func (m *Machine) onFetch(r Receive, f Fetch) {
	switch {
	case m.view == nil:
		m.stats.DroppedStale++
	case f.Cluster != m.view.Cluster:
		m.otherCluster(r, f.Cluster)
	default:
		m.send(r.From, m.addrOf(r), Commit{View: m.view.View})
	}
}
