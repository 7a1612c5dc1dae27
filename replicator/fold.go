package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// Folding brings what removed members have counted down to two items per counter (crdt.Replica.Fold). An event of a removed member that came after
// his counts were folded would be counted twice, and a fold of counts that a deleter has not seen would be lost or would survive his delete. So
// the oldest folds only when every member, learners too, has told under the installed view what he has (Clock.Content), and
//
//   - the own content holds all that each of them told: whoever is in the view takes nothing from a removed member, keeps nothing of his waiting, and
//     so has, then and later, only events of his that were told by then; and a delete that the fold does not know was made by one who had told
//     already;
//   - each of them told all that is here of the removed members and of the own earlier folds: so the one who made that delete had seen what is
//     folded;
//   - who comes later catches up with members who have seen it.
//
// The oldest stays the oldest until he is removed. Then his successor folds, under a view without him, what his folds left: each of them is known to
// somebody in that view, and so to the successor, or to nobody.
//
// A member who cannot be reached holds folding up until he is removed. The durable space never folds: a disk may return that knows more than
// all who are there.
type folding struct {
	todo  []crdt.Origin // removed members that may have counted, the next first
	at    uint64        // the seq from which on to look
	ready bool          // all members have told, under the installed view, what they have to
	last  uint64        // the last own fold
	tries int
	done  map[crdt.Origin]bool // nothing of them is left to fold
}

func (f *folding) pending() bool { return len(f.todo) > 0 }

// startFolding looks who has been removed, after a view was installed.
func (m *Machine) startFolding() {
	f := &m.folding
	f.todo, f.at, f.ready, f.tries = nil, 0, false, 0
	if m.oldest != m.cfg.Self || !m.voter {
		f.done = nil // whoever folds now leaves things behind in his own way
		return
	}
	f.look(m)
}

// look finds the removed members of whom something lives.
func (f *folding) look(m *Machine) {
	done := map[crdt.Origin]bool{}
	f.todo, f.at = nil, 0
	for _, o := range m.spaces[Volatile].store.Authors() {
		switch {
		case !m.removed(o):
		case f.done[o]:
			done[o] = true
		default:
			f.todo = append(f.todo, o)
		}
	}
	f.done = done
}

// removed says of who has written something whether he is a member no more.
func (m *Machine) removed(o crdt.Origin) bool { return o != m.cfg.Self && m.peer(o) == nil }

// fold does some of what is to do, and says whether to go on at once.
func (m *Machine) fold() (more bool) {
	f, s := &m.folding, m.spaces[Volatile]
	if !f.pending() || s.crowded() {
		return false
	}
	if !f.ready {
		if !s.agreedToFold() && !m.cfg.Faults.FoldUnasked {
			m.tidyAt = m.now.Add(m.backoff(f.tries))
			f.tries++
			return false
		}
		f.ready = true
		f.look(m) // the others may have told of more
		return f.pending()
	}
	gs, next, err := s.rep.FoldOf(f.todo[0], f.at, tidyScan, m.removed, s.toldByAll, &s.ch)
	if len(gs) > 0 {
		s.absorb()
		for _, g := range gs {
			s.made(g)
			f.last = g.Last().Seq
		}
		m.stats.Folded += uint64(len(gs))
	}
	if f.at = next; next == 0 || err != nil {
		f.done[f.todo[0]] = true
		f.todo = f.todo[1:]
	}
	return f.pending()
}

// agreedToFold says whether all members have told enough, and asks those who have not.
func (s *space) agreedToFold() bool {
	removed := &crdt.Clock{}
	for _, o := range s.store.Authors() {
		if s.m.removed(o) {
			removed.Join(s.content().Of(o))
		}
	}
	all := true
	for _, p := range s.m.peers {
		t := p.link(s).stated
		if t == nil || !t.Includes(removed) || t.Base(s.m.cfg.Self) < s.m.folding.last || !s.content().Includes(t) {
			all = false
			s.tellClock(p, true)
		}
	}
	return all
}

// toldByAll says whether all members had an event when they told what they have.
func (s *space) toldByAll(d crdt.Dot) bool {
	lacks := func(p *peer) bool { return p.link(s).stated == nil || !p.link(s).stated.Has(d) }
	return s.m.cfg.Faults.FoldUnasked || !slices.ContainsFunc(s.m.peers, lacks)
}

// heedTold keeps what a peer tells under the installed view, until all have told enough: what is folded then must have been here and there at one
// time.
func (s *space) heedTold(p *peer, msg *Clock) {
	if f := &s.m.folding; s.id == Volatile && msg.Epoch == s.m.view.Epoch && f.pending() && !f.ready {
		p.link(s).stated = msg.Content
	}
}

// forgetRemoved drops groups of removed members that wait for others: had they come to apply later, nobody would have been told of them.
func (s *space) forgetRemoved() {
	for _, p := range s.m.peers {
		p.link(s).stated = nil
	}
	if s.id == Durable {
		return
	}
	s.waiting.groups = slices.DeleteFunc(s.waiting.groups, func(w waiter) bool {
		gone := s.m.removed(w.group.First().Origin)
		if gone {
			s.waiting.bytes -= w.bytes
		}
		return gone
	})
}
