package replicator

import (
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// gossip trims the logs, tells one random peer what this replica holds, and comes again.
func (m *Machine) gossip() {
	m.gossipAt = m.site.Now.Add(m.site.Cfg.GossipInterval)
	for _, s := range m.spaces {
		s.Trim()
	}
	if len(m.site.Peers) > 0 {
		m.site.SendStatus(m.site.Peers[m.site.Rng.IntN(len(m.site.Peers))], false)
	}
}

// summary is what gossip says of both spaces.
func (m *Machine) summary() (out [keyspace.Count]wire.Summary) {
	for i, s := range m.spaces {
		out[i] = wire.Summary{
			Hash: s.ContentHash(), Digest: s.Store.Digest(), Acked: s.AckedAll(), Settled: s.Chain.Settled(),
		}
	}
	return out
}

// onStatus compares. Equal: stop. Other clocks: tell the own, so that each sends what the other
// lacks. Equal clocks and other digests: an alarm (R5).
func (m *Machine) onStatus(p *replica.Peer, msg *wire.Status) {
	equal := true
	for i, s := range m.spaces {
		sum := &msg.Spaces[i]
		s.settlement.Claim(sum.Settled)
		switch {
		case sum.Hash != s.ContentHash():
			if !s.repairs.puller.Running() && (m.site.Serves || msg.Ask) {
				equal = false
				s.TellClock(p, true)
			}
		case sum.Digest != s.Store.Digest():
			s.repairs.alarm(p)
		default:
			p.Link(s.Id).Alarms, p.Link(s.Id).AlarmAt = 0, time.Time{}
			s.LearnContent(p, s.Content())
			if sum.Acked {
				s.LearnAcked(p, s.Content())
			}
		}
	}
	if msg.Ask && equal {
		m.site.SendStatus(p, false)
	}
}

// onClock learns what a peer has, and sends what the peer lacks.
func (s *space) onClock(p *replica.Peer, msg *wire.Clock) {
	s.LearnContent(p, msg.Content)
	if msg.Acked != nil {
		s.LearnAcked(p, msg.Acked)
	} else {
		s.LearnAcked(p, msg.Content)
	}
	if w := &p.Link(s.Id).Window; w.Tries() > 0 {
		w.SetTries(0)
		s.Watch(p)
	}
	s.gaps.Fill(p, msg.Content)
	if msg.Ask {
		s.TellClock(p, false)
	}
}
