package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// gossip tells peers now and then what this replica holds, and compares what they tell.
type gossip struct {
	*replica.Site
	spaces [keyspace.Count]*space
	at     time.Time // when to tell the next peer
}

// arm sets when to tell the next peer.
func (g *gossip) arm() { g.at = g.Now.Add(g.Cfg.GossipInterval) }

// onTime tells a peer when it is time to.
func (g *gossip) onTime() {
	if g.Due(&g.at) {
		g.tell()
	}
}

// leave ends it, when this replica is no member any more.
func (g *gossip) leave() { g.at = time.Time{} }

// tell trims the logs, tells one random peer what this replica holds, and comes again.
func (g *gossip) tell() {
	g.arm()
	for _, s := range g.spaces {
		s.Trim()
	}
	if len(g.Peers) > 0 {
		g.SendHoldings(g.Peers[g.Rng.IntN(len(g.Peers))], false)
	}
}

// summary is what gossip says of both spaces.
func (g *gossip) summary() (out [keyspace.Count]wire.Summary) {
	for i, s := range g.spaces {
		out[i] = wire.Summary{
			Hash: s.ContentHash(), Digest: s.Store.Digest(), Acked: s.AckedAll(), Settled: s.Chain.Settled(),
		}
	}
	return out
}

// onHoldings compares. Equal: stop. Other clocks: tell the own, so that each sends what the other
// lacks. Equal clocks and other digests: an alarm (R5).
func (g *gossip) onHoldings(p *replica.Peer, msg *wire.Holdings) {
	equal := true
	for i, s := range g.spaces {
		sum := &msg.Spaces[i]
		s.settlement.Claim(sum.Settled)
		switch {
		case sum.Hash != s.ContentHash():
			if !s.repairs.puller.Running() && (g.Serves || msg.Ask) {
				equal = false
				s.TellClock(p, true)
			}
		case sum.Digest != s.Store.Digest():
			s.repairs.alarm(p)
		default:
			p.Link(s.ID).Alarms, p.Link(s.ID).AlarmAt = 0, time.Time{}
			s.LearnContent(p, s.Content())
			if sum.Acked {
				s.LearnAcked(p, s.Content())
			}
		}
	}
	if msg.Ask && equal {
		g.SendHoldings(p, false)
	}
}

// onClock learns what a peer has, and sends what the peer lacks. has is what it has told, or more that
// it is known to have.
func (s *space) onClock(p *replica.Peer, msg *wire.Clock, has *crdt.Clock) {
	s.LearnContent(p, msg.Content)
	if msg.Acked != nil {
		s.LearnAcked(p, msg.Acked)
	} else {
		s.LearnAcked(p, msg.Content)
	}
	if w := &p.Link(s.ID).Window; w.Tries() > 0 {
		w.SetTries(0)
		s.Watch(p)
	}
	s.gaps.Fill(p, has)
	if msg.Ask {
		s.TellClock(p, false)
	}
}
