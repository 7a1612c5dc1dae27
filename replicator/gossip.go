package replicator

import (
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

// gossip trims the logs, tells one random peer what this replica holds, and comes again.
func (m *Machine) gossip() {
	m.gossipAt = m.site.now.Add(m.site.cfg.GossipInterval)
	for _, s := range m.spaces {
		s.trim()
	}
	if len(m.site.peers) > 0 {
		m.site.sendStatus(m.site.peers[m.site.rng.IntN(len(m.site.peers))], false)
	}
}

// summary is what gossip says of both spaces.
func (m *Machine) summary() (out [keyspace.Count]wire.Summary) {
	for i, s := range m.spaces {
		out[i] = wire.Summary{
			Hash: s.contentHash(), Digest: s.store.Digest(), Acked: s.ackedAll(), Settled: s.chain.Settled(),
		}
	}
	return out
}

// onStatus compares. Equal: stop. Other clocks: tell the own, so that each sends what the other
// lacks. Equal clocks and other digests: an alarm (R5).
func (m *Machine) onStatus(p *peer, msg *wire.Status) {
	equal := true
	for i, s := range m.spaces {
		sum := &msg.Spaces[i]
		s.settlement.claim(sum.Settled)
		switch {
		case sum.Hash != s.contentHash():
			if !s.repairs.puller.Running() && (m.site.serves || msg.Ask) {
				equal = false
				s.tellClock(p, true)
			}
		case sum.Digest != s.store.Digest():
			s.repairs.alarm(p)
		default:
			p.link(s.id).alarms, p.link(s.id).alarmAt = 0, time.Time{}
			s.learnContent(p, s.content())
			if sum.Acked {
				s.learnAcked(p, s.content())
			}
		}
	}
	if msg.Ask && equal {
		m.site.sendStatus(p, false)
	}
}

// onClock learns what a peer has, and sends what the peer lacks.
func (s *space) onClock(p *peer, msg *wire.Clock) {
	s.learnContent(p, msg.Content)
	if msg.Acked != nil {
		s.learnAcked(p, msg.Acked)
	} else {
		s.learnAcked(p, msg.Content)
	}
	if w := &p.link(s.id).window; w.Tries() > 0 {
		w.SetTries(0)
		s.watch(p)
	}
	s.gaps.fill(p, msg.Content)
	if msg.Ask {
		s.tellClock(p, false)
	}
}
