package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// gossip trims the logs, tells one random peer what this replica holds, and comes again.
func (m *Machine) gossip() {
	m.gossipAt = m.now.Add(m.cfg.GossipInterval)
	for _, s := range m.spaces {
		s.trim()
	}
	if len(m.peers) > 0 {
		m.sendStatus(m.peers[m.rng.IntN(len(m.peers))], false)
	}
}

// askAll asks all peers what they hold.
func (m *Machine) askAll() {
	for _, p := range m.peers {
		m.sendStatus(p, true)
	}
}

func (m *Machine) sendStatus(p *peer, ask bool) {
	msg := &Status{Epoch: m.view.Epoch, Ask: ask}
	for i, s := range m.spaces {
		msg.Spaces[i] = Summary{Hash: s.contentHash(), Digest: s.store.Digest(), Acked: s.ackedAll(), Settled: s.settlement.chain.Settled()}
	}
	m.send(p, Prompt, msg)
}

// onStatus compares. Equal: stop. Other clocks: tell the own, so that each sends what the other
// lacks. Equal clocks and other digests: an alarm (R5).
func (m *Machine) onStatus(p *peer, msg *Status) {
	equal := true
	for i, s := range m.spaces {
		sum := &msg.Spaces[i]
		s.claim(sum.Settled)
		switch {
		case sum.Hash != s.contentHash():
			if !s.puller.Running() && (m.serves || msg.Ask) {
				equal = false
				s.tellClock(p, true)
			}
		case sum.Digest != s.store.Digest():
			s.alarm(p)
		default:
			p.link(s).alarms, p.link(s).alarmAt = 0, zeroTime
			s.learnContent(p, s.content())
			if sum.Acked {
				s.learnAcked(p, s.content())
			}
		}
	}
	if msg.Ask && equal {
		m.sendStatus(p, false)
	}
}

// tellClock sends the own clock to a peer; the peer answers with what the clock lacks.
func (s *space) tellClock(p *peer, ask bool) {
	msg := &Clock{Epoch: s.m.view.Epoch, Space: s.id, Ask: ask, Content: s.content().Clone()}
	if !s.ackedAll() {
		msg.Acked = s.acked().Clone()
	}
	s.m.send(p, Prompt, msg)
}

// onClock learns what a peer has, and sends what the peer lacks.
func (s *space) onClock(p *peer, msg *Clock) {
	s.learnContent(p, msg.Content)
	s.heedTold(p, msg)
	if msg.Acked != nil {
		s.learnAcked(p, msg.Acked)
	} else {
		s.learnAcked(p, msg.Content)
	}
	if w := &p.link(s).window; w.Tries() > 0 {
		w.SetTries(0)
		s.watch(p)
	}
	s.fill(p, msg.Content)
	if msg.Ask {
		s.tellClock(p, false)
	}
}

// onFetch sends the groups of the dots that a peer asks for.
func (s *space) onFetch(p *peer, msg *Fetch) {
	s.fill(p, s.content().Minus(msg.Dots))
}

// fill sends, in the order in which they were applied here, the groups that a clock lacks and that
// are not on their way to the peer in parts; or says that the log does not reach back so far.
func (s *space) fill(p *peer, clock *crdt.Clock) {
	if !s.answers() || clock.Includes(s.content()) {
		return
	}
	clock = clock.Clone()
	for filled := false; ; filled = true {
		p.flows.Join(uint8(s.id), clock)
		if clock.Includes(s.content()) {
			return
		}
		groups, more, covered := s.store.Missing(clock, s.m.cfg.PushWindow)
		todo := make([]push.Group, len(groups))
		for i, g := range groups {
			todo[i] = push.Group{Events: g, Enc: crdt.AppendGroup(nil, g)}
			covered = covered && len(todo[i].Enc) <= s.m.cfg.GroupMax
		}
		if !covered { // or a group is too large to be put together there: a repair brings its items one by one, and takes them whole
			s.m.send(p, Prompt, &LogTruncated{Epoch: s.m.view.Epoch, Space: s.id})
			return
		}
		if !filled {
			s.m.stats.Fills++
		}
		if small, ok := s.fillWith(p, todo, more); small || !more || !ok {
			return // the peer asks for more when it has this, or by gossip
		}
	}
}

// fillWith sends groups. It reports whether one of them was small enough for a message, and whether
// there was place for all.
func (s *space) fillWith(p *peer, todo []push.Group, more bool) (small, ok bool) {
	var last *Push
	for ok = true; ok && len(todo) > 0; {
		part := s.bundle(todo, 0)
		part.msg.Fill = true
		todo = todo[len(part.msg.Groups):]
		if part.bytes > s.m.cfg.FrameMax {
			ok = s.m.sendLarge(p, s.groupCargo(part.msg.Groups[0]), part.msg, part.bytes)
			continue
		}
		s.m.send(p, Bulk, part.msg)
		last = part.msg
	}
	if last != nil {
		last.More = more || !ok
	}
	return last != nil, ok
}

// onLogTruncated starts a repair from the peer, because the peer's log cannot help. If the peer is
// being repaired from here, onLogTruncated does nothing yet: after that repair less differs.
func (s *space) onLogTruncated(p *peer) {
	if !s.puller.Running() && !s.m.donors.Reconciling(p.id, uint8(s.id)) {
		s.beginPull(p, false)
	}
}

// alarm counts a state that should be impossible, and repairs it by union (R5). It tells the peer,
// so that the peer does the same.
func (s *space) alarm(p *peer) {
	if s.m.now.Before(s.alarmAt) {
		return
	}
	l := p.link(s)
	if s.m.now.Before(l.alarmAt) {
		return
	}
	s.alarmAt = s.m.now.Add(2 * s.m.cfg.GossipInterval)
	l.alarmAt = s.m.now.Add(2 * s.m.cfg.GossipInterval << min(l.alarms, alarmsMax)) // what did not help is tried ever more rarely
	l.alarms++
	s.m.stats.DigestAlarms++
	s.m.sendStatus(p, false)
	if !s.puller.Running() {
		s.beginPull(p, true)
	}
}

// trim drops from the log what every member has acknowledged. A replica that is alone needs no log.
func (s *space) trim() {
	if s.store.LogLen() == 0 {
		return
	}
	stable := s.acked().Clone()
	for _, p := range s.m.peers {
		stable = stable.Minus(stable.Minus(p.link(s).acked))
	}
	s.rep.Trim(stable)
}
