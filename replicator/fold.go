package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// Folding brings what removed members have counted down to two items per counter
// (crdt.Replica.Fold). Without care, an event of a removed member that came after the fold of its
// counts would be counted twice. A fold of counts that a deleter has not seen would be lost, or
// would survive the delete. So the oldest folds only when every member, learners too, has told
// under the installed view what it has (Clock.Content), and
//
//   - the own content holds all that each of them told. A member of the view takes nothing from a
//     removed member and keeps none of its waiting groups. So it has, then and later, only events
//     of the removed member that were told by then. And a delete that the fold does not know was
//     made by a member that had told already;
//   - each of them told all that is here of the removed members and of the own earlier folds. So
//     the member that made that delete had seen what is folded;
//   - a member that comes later catches up with members that have seen it.
//
// The oldest stays the oldest until it is removed. Then its successor folds what its folds left,
// under a view without it. Each of these folds is known to some member of that view, and so to the
// successor, or to no member.
//
// A member that cannot be reached delays folding until it is removed. The durable space never
// folds: a disk may return that knows more than all present members.
type folding struct {
	todo  []crdt.Origin // removed members that may have counted, the next first
	at    uint64        // the seq from which on to look
	ready bool          // all members have told, under the installed view, what they have to
	last  uint64        // the last own fold
	tries int
	done  map[crdt.Origin]bool // nothing of them is left to fold
}

func (f *folding) pending() bool { return len(f.todo) > 0 }

// startFolding finds the removed members, after a view was installed.
func (m *Machine) startFolding() {
	f := &m.folding
	f.todo, f.at, f.ready, f.tries = nil, 0, false, 0
	if m.oldest != m.cfg.Self || !m.voter {
		f.done = nil // the replica that folds now leaves other items behind
		return
	}
	f.look(m)
}

// look finds the removed members that something still lives of.
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

// removed reports whether an origin is no longer a member.
func (m *Machine) removed(o crdt.Origin) bool { return o != m.cfg.Self && m.peer(o) == nil }

// fold does a part of the work, and reports whether to go on at once.
func (m *Machine) fold() (more bool) {
	f, s := &m.folding, m.spaces[Volatile]
	if !f.pending() || s.crowded() || m.move.number != 0 { // a move must find the counts as all have them
		return false
	}
	if !f.ready {
		if !s.agreedToFold() && !m.cfg.Defects.FoldUnasked {
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

// agreedToFold reports whether all members have told enough, and asks those that have not.
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

// toldByAll reports whether all members had an event when they told what they have.
func (s *space) toldByAll(d crdt.Dot) bool {
	lacks := func(p *peer) bool { return p.link(s).stated == nil || !p.link(s).stated.Has(d) }
	return s.m.cfg.Defects.FoldUnasked || !slices.ContainsFunc(s.m.peers, lacks)
}

// heedTold keeps what a peer tells under the installed view, as long as a fold or a move waits for
// that. For a fold this ends when all have told enough: what is folded must have been here and
// there at one time.
func (s *space) heedTold(p *peer, msg *Clock) {
	f, mv := &s.m.folding, &s.m.move
	if s.id != Volatile || msg.Epoch != s.m.view.Epoch {
		return
	}
	if mv.waits() || f.pending() && !f.ready {
		p.link(s).stated = msg.Content
		mv.changed = true
	}
}

// forgetRemoved drops groups of removed members that wait for others. If they were applied later,
// no other member would have been told of them.
func (s *space) forgetRemoved() {
	for _, p := range s.m.peers {
		p.link(s).stated = nil
	}
	if s.id == Durable {
		return
	}
	s.waiting.Forget(s.m.removed)
}
