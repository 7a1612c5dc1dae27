package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// peer is another member of the view.
type peer struct {
	id        crdt.Origin
	up        uint32
	disk      uint64
	voter     bool
	reachable bool
	epoch     uint64 // the newest view that the peer is known to have installed
	links     [spaces]link
	flows     push.Flows
	coming    push.Assembly
	malformed uint64    // messages and groups that made no sense
	warnAt    time.Time // when to tell of the next
}

// link is what one space knows of one peer, and what is on its way there.
//
// Invariants: content and acked hold only what the peer has (they may lag, they never lead); acked
// ⊆ content; what the window has as applied and counted are theirs for the own origin.
type link struct {
	content *crdt.Clock // applied there
	acked   *crdt.Clock // counts there
	window  push.Window // how far the peer is with the own events, and what is on its way there
	stated  *crdt.Clock // content that the peer told under the installed view; kept while there is something to fold

	told     *crdt.Clock // of the own content, what Compare told the peer; nil: nothing, or the peer has lost it
	theirs   crdt.Clock  // of the peer's content, what its Compares have told
	theirsID uint64      // of the last one

	unstored uint64 // own events up to here, those that do not count yet, were refused by the peer's disk
	refuses  bool   // the peer's disk has refused its last batch, as far as known
	why      string // what the disk said

	alarms  int       // digest alarms since the digests were last equal
	alarmAt time.Time // those before this are not acted upon

	owes        bool   // an Ack is due to the peer
	echo        uint64 // highest event of the peer that one of its pushes brought
	toldAcked   uint64 // of the last Ack to the peer
	toldContent uint64
}

func newPeer(m *Machine, p Peer, voter bool) *peer {
	n := &peer{id: p.ID, up: p.UpNumber, disk: p.Disk, voter: voter, reachable: true}
	for i, s := range m.spaces {
		seq := s.rep.Seq()
		n.links[i] = link{content: &crdt.Clock{}, acked: &crdt.Clock{}, window: push.NewWindow(seq)}
	}
	return n
}

func (p *peer) link(s *space) *link { return &p.links[s.id] }

// peer returns the member with this id, nil when there is none or it is the machine itself.
func (m *Machine) peer(id crdt.Origin) *peer {
	i, ok := slices.BinarySearchFunc(m.peers, id, func(p *peer, id crdt.Origin) int { return cmpOrigin(p.id, id) })
	if !ok {
		return nil
	}
	return m.peers[i]
}

// counts reports whether the peer's acks count for operations of the installed view (V7).
func (m *Machine) counts(p *peer) bool {
	return p.epoch == m.view.Epoch || m.cfg.Defects.CountAnyEpoch
}

// learnContent notes that the peer has applied c.
func (s *space) learnContent(p *peer, c *crdt.Clock) {
	l := p.link(s)
	l.content.Join(c)
	if l.window.SetApplied(l.content.Base(s.m.cfg.Self)) {
		s.watch(p)
	}
}

// learnAcked notes that c counts at the peer.
func (s *space) learnAcked(p *peer, c *crdt.Clock) {
	l := p.link(s)
	l.acked.Join(c)
	s.learnContent(p, c)
	l.window.SetCounted(l.acked.Base(s.m.cfg.Self))
	l.refuses = false
	s.acksMoved = true
}

// learnOwn notes what the peer has of the own events.
func (s *space) learnOwn(p *peer, content, acked uint64) {
	l, self := p.link(s), s.m.cfg.Self
	if content > l.window.Applied() {
		l.content.AddRange(self, 1, content)
		l.window.SetApplied(l.content.Base(self))
	}
	if acked > l.window.Counted() {
		l.acked.AddRange(self, 1, acked)
		l.window.SetCounted(l.acked.Base(self))
		l.refuses = false
		s.acksMoved = true
	}
}

func (s *space) owe(p *peer) {
	if l := p.link(s); !l.owes {
		l.owes = true
		s.owed = append(s.owed, p)
	}
}

// onReachable notes whether a peer can be reached. Reachable peers are asked first, and nothing is
// pushed to the others. A peer that comes back is asked what it lacks.
func (m *Machine) onReachable(id crdt.Origin, is bool) {
	p := m.peer(id)
	if p == nil || p.reachable == is {
		return
	}
	p.reachable = is
	if !is {
		return
	}
	m.sendStatus(p, true)
	for _, s := range m.spaces {
		p.link(s).window.SetTries(0)
		s.pushTo(p)
	}
}

// arm makes sure that the links are looked at not later than t; zero: never.
func (m *Machine) arm(t time.Time) { m.linkAt = earlier(m.linkAt, t) }

// backoff is how long to wait before the next try.
func (m *Machine) backoff(tries int) time.Duration {
	d := m.cfg.RetryInterval << min(tries, 16)
	return max(m.cfg.RetryInterval, min(d, m.cfg.GossipInterval))
}

// retryLinks goes through what was unacknowledged for too long.
func (m *Machine) retryLinks() {
	for _, p := range m.peers {
		for _, s := range m.spaces {
			w := &p.link(s).window
			if w.Due(m.now) {
				s.retryPush(p)
			}
			m.arm(w.RetryAt())
		}
		if p.flows.Due(m.now) {
			m.retryFlow(p)
		}
		m.arm(p.flows.RetryAt())
		if p.coming.Due(m.now) {
			m.stats.FlowsDropped++
			p.coming.GiveUp()
		}
		m.arm(p.coming.DropAt())
	}
}

// zeroTime means never.
var zeroTime time.Time
