package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// pull is a repair from one donor (R4): clock, set and payloads come from one pinned snapshot of his. They are staged here, and become part of
// the store in one step when all is there; what this replica does meanwhile is taken into account then.
//
//	asked ──first piece──► staging ──last piece──► checked ──► flipped
//	  └──────── refused, lost, no progress ────────► given up; gossip or the next question begins another
type pull struct {
	session uint64
	from    *peer
	asked   *crdt.Clock // the own content clock that the donor was told; empty: he sends all items
	union   bool        // equal clocks and different digests: add, drop nothing (R5)
	next    uint32      // piece
	clock   *crdt.Clock // of the donor's snapshot; nil: no piece has come
	digest  crdt.Digest
	live    crdt.Clock // dots in asked that are live there
	items   []crdt.Item
	staged  crdt.Clock // dots of items
	at      time.Time  // when to ask again
	tries   int
}

// pullTries is how often a repair is asked to go on without progress.
const pullTries = 5

func (s *space) startPull(p *peer, asked *crdt.Clock) {
	s.pull = &pull{session: s.m.rng.Uint64() | 1, from: p, asked: asked.Clone()}
	s.askPull()
}

// askPull asks the donor to begin, or to go on.
func (s *space) askPull() {
	p := s.pull
	if p.clock == nil {
		s.m.send(p.from, Prompt, &Pull{Epoch: s.m.view.Epoch, Space: s.id, Session: p.session, Content: p.asked})
	} else {
		s.m.send(p.from, Prompt, &PieceAck{Epoch: s.m.view.Epoch, Space: s.id, Session: p.session, Next: p.next, Again: true})
	}
	p.at = s.m.now.Add(s.m.backoff(p.tries))
}

func (s *space) retryPull() {
	if s.pull.tries++; s.pull.tries > pullTries {
		s.breakPull()
		return
	}
	s.askPull()
}

func (s *space) breakPull() {
	s.m.stats.RepairsBroken++
	s.pull = nil
}

// forgetPull gives up a repair whose donor has left.
func (s *space) forgetPull() {
	if s.pull != nil && s.m.peer(s.pull.from.id) != s.pull.from {
		s.breakPull()
	}
}

func (s *space) onRefuse(p *peer, msg *Refuse) {
	if s.pull != nil && s.pull.from == p && s.pull.session == msg.Session {
		s.breakPull()
	}
}

// onPiece stages the next piece.
func (s *space) onPiece(from *peer, msg *Piece) {
	p := s.pull
	if p == nil || p.from != from || p.session != msg.Session || msg.Index != p.next {
		return // of an older session, twice, or after one that was lost
	}
	if !p.stage(msg) {
		s.m.stats.Malformed++
		s.breakPull()
		return
	}
	p.tries, p.at = 0, s.m.now.Add(s.m.cfg.RetryInterval)
	if msg.Last || int(p.next)%max(1, s.m.cfg.PieceWindow/2) == 0 {
		s.m.send(from, Prompt, &PieceAck{Epoch: s.m.view.Epoch, Space: s.id, Session: p.session, Next: p.next})
	}
	if msg.Last {
		s.finishPull()
	}
}

// stage keeps a piece and says whether it makes sense.
func (p *pull) stage(msg *Piece) bool {
	if msg.Index == 0 {
		if msg.Clock == nil {
			return false
		}
		p.clock, p.digest = msg.Clock, msg.Digest
	}
	if msg.Live != nil {
		if !p.asked.Includes(msg.Live) {
			return false
		}
		p.live.Join(msg.Live)
	}
	for _, it := range msg.Items {
		if !p.staged.Add(it.Dot) {
			return false
		}
		p.items = append(p.items, *it)
	}
	p.next++
	return true
}

// finishPull makes what was staged part of the store, unless it does not add up.
func (s *space) finishPull() {
	p := s.pull
	s.pull = nil
	if p.union {
		s.unite(p)
		return
	}
	if !s.addsUp(p) {
		s.m.stats.RepairAlarms++
		if p.asked.Empty() {
			s.m.stats.RepairsBroken++
		} else {
			s.startPull(p.from, &noClock) // trust nothing that is here
		}
		return
	}
	live := func(d crdt.Dot) bool { return p.live.Has(d) || p.staged.Has(d) }
	if err := s.rep.Merge(p.clock, live, p.items, &s.ch); err != nil {
		s.ch.Reset()
		s.m.stats.Malformed++
		s.m.stats.RepairsBroken++
		return
	}
	s.m.stats.Repairs++
	s.absorb()
	s.learnContent(p.from, p.clock)
	s.release()
	s.tellClock(p.from, false) // what the donor has got since comes from his log
}

// addsUp compares the sum of what is live at the donor with the digest of his snapshot, before clocks are joined (R5). What is live there and
// was removed here cannot be summed; then the digests are compared when the clocks are equal again.
func (s *space) addsUp(p *pull) bool {
	var sum crdt.Digest
	for r := range p.live.Ranges() {
		for d := (crdt.Dot{Origin: r.Origin, Seq: r.First}); ; d.Seq++ {
			it, ok := s.store.Item(d)
			if !ok {
				return true
			}
			sum = sum.Plus(s.store.Hash(it))
			if d.Seq == r.Last {
				break
			}
		}
	}
	for i := range p.items {
		sum = sum.Plus(s.store.Hash(&p.items[i]))
	}
	return sum == p.digest
}

// unite adds what an equal clock's store has and this one lost. If one of the two has moved on, nobody can tell any more what is lost and
// what was removed: then the next alarm tries again.
func (s *space) unite(p *pull) {
	if !p.clock.Equal(s.content()) {
		s.m.stats.RepairsBroken++
		return
	}
	s.rep.Union(p.items, &s.ch)
	s.m.stats.Repairs++
	s.absorb()
}

// donor returns somebody who may help, nil when there is nobody.
func (s *space) donor() *peer {
	for _, p := range s.m.favoured(s.m.peers, false) {
		if p.voter {
			return p
		}
	}
	return nil
}
